"""The models of transformers that the sweep compares, each in two modes.

``wrapped``: called by a module with a plain signature. ``concrete_args``: all inputs but one are given their defaults;
not where a decorated forward takes ``*args`` or ``**kwargs``, which torch.fx can't bind, and fxcore can on purpose.
"""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from tests.core.oracle import attempt
from tests.core.sweep.cases import Case

INPUTS = {"input_ids": 20, "pixel_values": 1, "input_values": 4, "input_features": 4, "hidden_states": 1}
"""What a model's main input may be called, first things first; of those that have it, every so manieth is taken.

All that see nothing but images: the models that trace are among them. The text models share the code that they fail in.
"""


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
    met: Counter[str | None] = Counter()
    for model_class in _classes():
        main = main_input(model_class)
        met[main] += 1
        if main is not None and met[main] % INPUTS[main] == 0:
            yield from cases_of(model_class, main)


def main_input(model_class: Any) -> str | None:
    """What a model's main input is called; None where it has none of ``INPUTS``."""
    parameters = inspect.signature(model_class.forward).parameters
    return next((name for name in INPUTS if name in parameters), None)


def cases_of(model_class: Any, main: str) -> Iterator[Case]:
    """A model in its modes."""
    name, parameters = model_class.__name__, inspect.signature(model_class.forward).parameters
    options = {"use_cache": False} if "use_cache" in parameters else {}
    build_wrapped = functools.partial(build_wrapped_transformer, model_class, main, options)
    yield Case("transformers", "wrapped", name, build_wrapped, runs=True)
    kinds = {parameter.kind for parameter in parameters.values()}
    variadic = bool(kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD})
    decorated = inspect.unwrap(model_class.forward) is not model_class.forward
    if not (variadic and decorated):
        concrete = {
            name: parameter.default
            for name, parameter in parameters.items()
            if name != main and parameter.default is not inspect.Parameter.empty
        }
        build = functools.partial(build_transformer, model_class)
        yield Case("transformers", "concrete_args", name, build, concrete, runs=True)


def build_transformer(model_class: Any) -> nn.Module:
    """A model with its default configuration."""
    model: nn.Module = model_class(model_class.config_class())
    return model.eval()


def build_wrapped_transformer(model_class: Any, main: str, options: dict[str, Any]) -> nn.Module:
    """The same behind a plain signature."""
    return Plainly(build_transformer(model_class), main, options)


def _classes() -> Iterator[Any]:
    """All models of the package that can be imported, in the order of their names."""
    import transformers

    seen: set[Any] = set()
    for name in sorted(dir(transformers)):
        model_class = attempt(functools.partial(getattr, transformers, name))  # it may need a package that isn't there
        if not inspect.isclass(model_class) or not issubclass(model_class, transformers.PreTrainedModel):
            continue
        if model_class.config_class is not None and model_class not in seen:  # some have two names
            seen.add(model_class)
            yield model_class
