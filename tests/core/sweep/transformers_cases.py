"""The models of transformers that the sweep compares, each in two modes.

``wrapped``: called by a module with a plain signature. ``concrete_args``: all inputs but one are given their defaults.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from tests.core.oracle import attempt
from tests.core.sweep.cases import Case

TEXT_STEP = 12
"""Of the text models every twelfth: they share the code that they fail in."""
INPUTS = ("input_ids", "pixel_values", "input_values", "input_features")


class Plainly(nn.Module):
    """A model behind a plain signature: torch.fx can't bind decorated forwards with ``**kwargs``."""

    def __init__(self, model: nn.Module, name: str, options: dict[str, Any]) -> None:
        super().__init__()
        self.model = model
        self.input_name = name
        self.options = options

    def forward(self, x: torch.Tensor) -> Any:
        return self.model(**{self.input_name: x}, **self.options)


def transformers_cases() -> Iterator[Case]:
    """Models of every architecture."""
    for index, (config_class, model_class) in enumerate(_classes()):
        signature = attempt(functools.partial(inspect.signature, model_class.forward))
        if isinstance(signature, Exception):  # the release doesn't have it, or it needs a package that isn't installed
            continue
        main = next((name for name in INPUTS if name in signature.parameters), None)
        if main is not None and (main != "input_ids" or index % TEXT_STEP == 0):
            yield from _cases(model_class, config_class, main, signature.parameters)


def _cases(model_class: Any, config_class: Any, main: str, parameters: Any) -> Iterator[Case]:
    name = model_class.__name__
    options = {"use_cache": False} if "use_cache" in parameters else {}
    build_wrapped = functools.partial(build_wrapped_transformer, model_class, config_class, main, options)
    yield Case("transformers", "wrapped", name, build_wrapped, runs=True)
    concrete = {
        name: parameter.default
        for name, parameter in parameters.items()
        if name != main and parameter.default is not inspect.Parameter.empty
    }
    kinds = {parameter.kind for parameter in parameters.values()}
    variadic = bool(kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD})
    decorated = inspect.unwrap(model_class.forward) is not model_class.forward
    build = functools.partial(build_transformer, model_class, config_class)
    yield Case("transformers", "concrete_args", name, build, concrete, not (variadic and decorated), runs=True)


def build_transformer(model_class: Any, config_class: Any) -> nn.Module:
    """A model with its default configuration."""
    model: nn.Module = model_class(config_class())
    return model.eval()


def build_wrapped_transformer(model_class: Any, config_class: Any, main: str, options: dict[str, Any]) -> nn.Module:
    """The same behind a plain signature."""
    return Plainly(build_transformer(model_class, config_class), main, options)


def _classes() -> Iterator[tuple[Any, Any]]:
    """Configurations and model classes: the base models, and the vision and audio models with a head."""
    import transformers

    mappings: list[Any] = [
        transformers.MODEL_FOR_BACKBONE_MAPPING,
        transformers.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING,
        transformers.MODEL_FOR_SEMANTIC_SEGMENTATION_MAPPING,
        transformers.MODEL_FOR_DEPTH_ESTIMATION_MAPPING,
        transformers.MODEL_MAPPING,
    ]
    seen = set()
    for mapping in mappings:
        for config_class in mapping:
            found = attempt(functools.partial(mapping.__getitem__, config_class))
            for model_class in found if isinstance(found, tuple) else [found]:
                if model_class not in seen and not isinstance(model_class, Exception):
                    seen.add(model_class)
                    yield config_class, model_class
