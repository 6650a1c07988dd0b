"""Compares fxcore with the installed torch.fx on every model that can be had; the result stands in docs/parity.md.

    .venv/bin/python -m tests.core.sweep [--library torchvision timm transformers] [--every N] [--write]

For each model: the same verdict; if it traces, the same nodes, code and metadata; if not, the same type of exception
at the same expression. Models are built without weights, on the meta device where they can be. ``--every N`` takes
every Nth; ``--write`` rewrites docs/parity.md. The exit status is 1 where anything differs.
"""

from __future__ import annotations

import argparse
import copy
import functools
import gc
import importlib.metadata
import inspect
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
import torch.fx
from torch import nn

import fxcore
from fxcore.failures import TraceFailure
from fxcore.source import is_user_file, span_at
from tests import zoo
from tests.core.oracle import assert_same_failure, assert_same_graph, attempt

PAGE = Path(__file__).parents[2] / "docs" / "parity.md"
TIMM_STEP = 3
"""Every third of timm's models: about 430, of every family."""
TIMM_TRAINING = 40
"""How many of those are traced in training mode, too."""
TEXT_STEP = 12
"""Of transformers' text models every twelfth: they share the code that they fail in."""
INPUTS = ("input_ids", "pixel_values", "input_values", "input_features")


@dataclass(frozen=True)
class Case:
    """One model in one mode."""

    library: str
    mode: str
    name: str
    build: Callable[[], nn.Module]
    concrete_args: dict[str, Any] | None = None
    bound_by_torch: bool = True
    """Whether torch.fx can bind the root's arguments: a decorated forward with ``*args`` or ``**kwargs`` it can't."""


class Plainly(nn.Module):
    """A model of transformers behind a plain signature: torch.fx can't bind decorated forwards with ``**kwargs``."""

    def __init__(self, model: nn.Module, name: str, options: dict[str, Any]) -> None:
        super().__init__()
        self.model = model
        self.input_name = name
        self.options = options

    def forward(self, x: torch.Tensor) -> Any:
        return self.model(**{self.input_name: x}, **self.options)


def torchvision_cases() -> Iterator[Case]:
    """Every registered model, in both modes."""
    for name in zoo.model_builders():
        for training in (False, True):
            mode = "train" if training else "eval"
            yield Case("torchvision", mode, name, functools.partial(zoo.build, name, training=training))


def build_timm(name: str, *, training: bool) -> nn.Module:
    """A model of timm."""
    import timm

    module: nn.Module = timm.create_model(name, pretrained=False)
    return module.train(training)


def timm_cases() -> Iterator[Case]:
    """A third of timm's models, some of them in training mode, too."""
    import timm

    names = timm.list_models()[::TIMM_STEP]
    for name in names:
        yield Case("timm", "eval", name, functools.partial(build_timm, name, training=False))
    for name in names[:: len(names) // TIMM_TRAINING]:
        yield Case("timm", "train", name, functools.partial(build_timm, name, training=True))


def build_transformer(model_class: Any, config_class: Any, plain_input: str | None) -> nn.Module:
    """A model of transformers with its default configuration; behind a plain signature if its input is named."""
    model: nn.Module = model_class(config_class()).eval()
    if plain_input is None:
        return model
    options = {"use_cache": False} if "use_cache" in _signature(model_class).parameters else {}
    return Plainly(model, plain_input, options)


def transformers_cases() -> Iterator[Case]:
    """Models of every architecture: behind a plain signature, and with all but their input concrete."""
    for index, (config_class, model_class) in enumerate(_transformers_classes()):
        signature = attempt(functools.partial(_signature, model_class))
        if isinstance(signature, Exception):  # the release doesn't have it, or it needs a package that isn't installed
            continue
        parameters = signature.parameters
        main = next((name for name in INPUTS if name in parameters), None)
        if main is None or (main == "input_ids" and index % TEXT_STEP):
            continue
        name = model_class.__name__
        yield Case(
            "transformers", "wrapped", name, functools.partial(build_transformer, model_class, config_class, main)
        )
        concrete = {
            name: parameter.default
            for name, parameter in parameters.items()
            if name != main and parameter.default is not inspect.Parameter.empty
        }
        build_plain = functools.partial(build_transformer, model_class, config_class, None)
        kinds = {parameter.kind for parameter in parameters.values()}
        variadic = bool(kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD})
        decorated = inspect.unwrap(model_class.forward) is not model_class.forward
        yield Case("transformers", "concrete_args", name, build_plain, concrete, not (variadic and decorated))


def _transformers_classes() -> Iterator[tuple[Any, Any]]:
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


def _signature(model_class: Any) -> inspect.Signature:
    return inspect.signature(model_class.forward)


CASES: dict[str, Callable[[], Iterator[Case]]] = {
    "torchvision": torchvision_cases,
    "timm": timm_cases,
    "transformers": transformers_cases,
}


def users_innermost(traceback: TracebackType | None) -> TracebackType | None:
    """The innermost part of a traceback whose code is the user's."""
    found = None
    while traceback is not None:
        if is_user_file(traceback.tb_frame.f_code.co_filename):
            found = traceback
        traceback = traceback.tb_next
    return found


def compare(case: Case, module: nn.Module) -> str:
    """Trace a module with both and compare. ``"traced"`` or ``"failed"``; AssertionError says what differs."""
    fresh = copy.deepcopy(module)  # forwards that keep what they compute would hand our values to torch.fx
    ours = attempt(lambda: fxcore.symbolic_trace(fresh, case.concrete_args))
    theirs = attempt(lambda: torch.fx.symbolic_trace(module, case.concrete_args))
    if isinstance(theirs, Exception) and not case.bound_by_torch:
        return "not bound"
    assert_same_failure(ours, theirs)
    if not isinstance(theirs, Exception):
        assert_same_graph(ours, theirs)
        stacks = [[node.meta.get("nn_module_stack") for node in traced.graph.nodes] for traced in (ours, theirs)]
        assert stacks[0] == stacks[1], "nn_module_stack differs"
        return "traced"
    assert isinstance(ours, TraceFailure)
    place = users_innermost(theirs.__traceback__)
    # The callers of this function are the user to torch.fx, which has no frame of theirs to show.
    if place is not None and place.tb_frame.f_code.co_filename != __file__:
        assert ours.span == span_at(place.tb_frame.f_code, place.tb_lasti), f"{ours.span} differs"
    return "failed"


@dataclass(frozen=True)
class Result:
    """What came of one case.

    ``traced`` or ``failed`` by both alike, ``differs``, ``not bound`` (by torch.fx, while fxcore goes on: a difference
    on purpose), or ``not built``.
    """

    case: Case
    outcome: str
    detail: str = ""


def check(case: Case) -> Result:
    """Build and compare one model."""
    warnings.simplefilter("ignore")
    module = attempt(functools.partial(build, case))
    if isinstance(module, Exception):
        return Result(case, "not built", f"{type(module).__name__}: {module}"[:120])
    try:
        return Result(case, compare(case, module))
    except Exception as error:
        return Result(case, "differs", f"{type(error).__name__}: {error}"[:2000])
    finally:
        del module
        gc.collect()


def build(case: Case) -> nn.Module:
    """The model, its parameters without memory unless its constructor reads numbers from tensors."""
    try:
        with torch.device("meta"):
            return case.build()
    except Exception:
        return case.build()


def page(results: list[Result], seconds: float) -> str:
    """docs/parity.md."""
    table = Counter(((r.case.library, r.case.mode), r.outcome) for r in results)
    rows = dict.fromkeys((r.case.library, r.case.mode) for r in results)
    libraries = dict.fromkeys(["torch", *(r.case.library for r in results)])
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in libraries)
    lines = [
        "# Parity with torch.fx",
        "",
        "What `.venv/bin/python -m tests.core.sweep --write` found: every model is traced by fxcore and by the",
        "installed torch.fx in one process. *Traced alike*: the same nodes (name, op, target, arguments, annotation,",
        "module stack) and the same code. *Failed alike*: the same type of exception at the same expression.",
        "",
        f"{versions}; Python {sys.version.split()[0]}; {len(results)} cases in {seconds / 60:.0f} minutes.",
        "",
        "*Not bound*: a decorated forward with `**kwargs`, whose arguments torch.fx can't bind and fxcore can (see",
        "[Differences on purpose](fxcore.md#differences-on-purpose)).",
        "",
        "| library | mode | traced alike | failed alike | differ | not bound | not built |",
        "|---|---|---|---|---|---|---|",
    ]
    for key in rows:
        counts = [str(table[key, outcome]) for outcome in ("traced", "failed", "differs", "not bound", "not built")]
        lines.append(f"| {' | '.join(key)} | {' | '.join(counts)} |")
    differing = [r for r in results if r.outcome == "differs"]
    lines += ["", "## What differs", ""]
    lines += [f"- {r.case.library} {r.case.mode} {r.case.name}: {r.detail.splitlines()[0]}" for r in differing] or [
        "Nothing."
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Compare the models that the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--library", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    began = time.monotonic()
    results = []
    for library in options.library:
        for case in list(CASES[library]())[:: options.every]:
            result = check(case)
            results.append(result)
            print(f"{result.outcome:9} {library} {case.mode} {case.name} {result.detail}", flush=True)
    text = page(results, time.monotonic() - began)
    print(text)
    if options.write:
        PAGE.write_text(text)
    return int(any(result.outcome == "differs" for result in results))


if __name__ == "__main__":
    sys.exit(main())
