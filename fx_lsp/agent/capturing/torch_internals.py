"""Every private name of torch that the captures use. They were tried only with torch 2.13."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import warnings
from collections.abc import Callable, Iterator
from traceback import FrameSummary
from typing import Any

import torch
from torch._dynamo import config
from torch._dynamo.exc import Unsupported, UserError
from torch._dynamo.symbolic_convert import InstructionTranslatorBase
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedOperatorException,
)
from torch.fx.experimental import symbolic_shapes
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv

DATA_DEPENDENT = (GuardOnDataDependentSymNode, DataDependentOutputException, DynamicOutputShapeException)
"""What a program on fake tensors raises where it needs a value that only a run can tell."""

_sympy: Any = vars(symbolic_shapes)["sympy"]

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
    return isinstance(error, GuardOnDataDependentSymNode) and isinstance(error.cond, _sympy.Expr)


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
    frames = list(error.real_stack or ())
    for frame in frames:
        frame.name = _of_whole_function(frame.name)
    text = _of_whole_function(str(error).partition("\n\nfrom user code")[0])
    return re.sub(r"\n+\s*Developer debug context:.*(?=\n|$)", "", text), frames


def _of_whole_function(text: str) -> str:
    """``text`` with the functions' own names in it: torch renames what is left of a function after a graph break."""
    return re.sub(r"\btorch_dynamo_resume_in_(\w+?)_at_\d+", r"\1", text)


def without_logging() -> contextlib.AbstractContextManager[None]:
    """Within the block, ``torch.compile`` leaves out calls that print or log, which would break the graph."""
    methods = (getattr(logging.Logger, name) for name in ("debug", "info", "warning", "error", "log"))
    setting = "ignore_logging_functions" if hasattr(config, "ignore_logging_functions") else "ignore_logger_methods"
    patched: contextlib.AbstractContextManager[None] = config.patch({setting: {print, warnings.warn, *methods}})
    return patched


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


@contextlib.contextmanager
def answering(answer: Callable[[GuardOnDataDependentSymNode, type], bool | int | float]) -> Iterator[None]:
    """Within the block, ``answer`` tells what depends on data, where torch would raise an error because it can't know.

    Its arguments are that error, which it may raise, and the type of the answer: bool, int or float.
    """
    original = ShapeEnv.evaluate_expr

    def evaluate(self: ShapeEnv, orig_expr: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, orig_expr, *args, **kwargs)
        except GuardOnDataDependentSymNode as error:
            is_bool = not isinstance(orig_expr, _sympy.Expr)  # a symbol is a `Boolean`, too
            return _sympy.sympify(answer(error, bool if is_bool else int if orig_expr.is_integer else float))

    ShapeEnv.evaluate_expr = evaluate  # type: ignore[method-assign]
    try:
        yield
    finally:
        ShapeEnv.evaluate_expr = original  # type: ignore[method-assign]


@contextlib.contextmanager
def watching_graph_breaks(seen: Callable[[BaseException], None]) -> Iterator[None]:
    """Within the block, ``seen`` is called for each graph break, with what `graph_break` can read."""
    original = InstructionTranslatorBase.log_graph_break

    def log(self: InstructionTranslatorBase, code_options: Any, reason: str, exc: Any) -> None:
        seen(exc)
        original(self, code_options, reason, exc)

    InstructionTranslatorBase.log_graph_break = log  # type: ignore[method-assign]
    try:
        yield
    finally:
        InstructionTranslatorBase.log_graph_break = original  # type: ignore[method-assign]
