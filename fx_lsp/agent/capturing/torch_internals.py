"""Every private name of torch that the captures use. They were tried only with torch 2.13."""

from __future__ import annotations

import contextlib
import io
import logging
import re
from collections.abc import Callable, Iterator
from traceback import FrameSummary
from typing import Any

import torch
from torch._dynamo.exc import Unsupported, UserError
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedOperatorException,
)
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv

DATA_DEPENDENT = (GuardOnDataDependentSymNode, DataDependentOutputException, DynamicOutputShapeException)
"""What a program on fake tensors raises where it needs a value that only a run can tell."""

_NO_KERNEL = ("no fake impl registered", "no fake kernel", "fake kernel")
_NO_PYTREE = "in output, which is not a known type"


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Within the block, torch neither prints nor logs the errors that it also raises, with their graphs."""
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stderr(_Nowhere()):
            yield
    finally:
        logging.disable(logging.NOTSET)


class _Nowhere(io.TextIOBase):
    """Accepts text and drops it."""

    def write(self, text: str) -> int:
        """Drop ``text``."""
        return len(text)


def fake_mode() -> FakeTensorMode:
    """A mode in which tensors have shapes, dtypes and devices, but no values; sizes that depend on data get symbols."""
    return FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv())


def as_fake(mode: FakeTensorMode, tensor: torch.Tensor) -> torch.Tensor:
    """A fake tensor like ``tensor``, on the CPU even if ``tensor`` is on the meta device."""
    if not tensor.is_meta:
        return mode.from_tensor(tensor, static_shapes=True)
    return mode.fake_tensor_converter.from_meta_and_device(mode, tensor, torch.device("cpu"))


def is_data_dependent_number(error: BaseException) -> bool:
    """Whether the program needed a plain number, e.g. for ``int(x)``, rather than the answer to a question."""
    return isinstance(error, GuardOnDataDependentSymNode) and "Could not extract specialized" in str(error)


def lacks_fake_kernel(error: BaseException) -> bool:
    """Whether a custom operator does not say what it does to fake tensors."""
    return isinstance(error, UnsupportedOperatorException) or any(text in str(error).lower() for text in _NO_KERNEL)


def has_unknown_output(error: BaseException) -> bool:
    """Whether the program returns an object that is not registered as a pytree."""
    return isinstance(error, RuntimeError) and _NO_PYTREE in str(error)


def graph_break(error: BaseException) -> tuple[str, list[FrameSummary]] | None:
    """The text of a graph break and the frames that lead to it, the outermost first; None for any other error."""
    if not isinstance(error, Unsupported | UserError):
        return None
    # `real_stack` has the innermost frame last since 2.13, and before as well where there was more than one frame.
    text = str(error).partition("\n\nfrom user code")[0]
    return re.sub(r"\n+\s*Developer debug context:.*(?=\n|$)", "", text), list(error.real_stack or ())


@contextlib.contextmanager
def watching_specializations(seen: Callable[[], None]) -> Iterator[None]:
    """Within the block, ``seen`` is called whenever the program turns a dynamic size into a number."""
    original = ShapeEnv._set_replacement

    def replaced(self: ShapeEnv, a: Any, tgt: Any, *args: Any, **kwargs: Any) -> None:
        if tgt.is_number and str(a).startswith("s"):  # the names of sizes that depend on data begin with "u" or "z"
            seen()
        original(self, a, tgt, *args, **kwargs)

    ShapeEnv._set_replacement = replaced  # type: ignore[method-assign]
    try:
        yield
    finally:
        ShapeEnv._set_replacement = original  # type: ignore[method-assign]
