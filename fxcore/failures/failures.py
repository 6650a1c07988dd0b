"""The ways in which a trace can fail: one exception class for each, which records where the trace failed.

Every class also inherits from the exception that torch.fx raises in the same place, so that programs that handle
torch.fx's exception keep working. A failure's kind, subject and operation are determined from what happened, never from
the text of an error.
"""

from __future__ import annotations

import functools
from enum import Enum
from typing import Any

from fxcore.failures.subject import Subject, subject_of
from fxcore.node import Node
from fxcore.source import Frame, SourceSpan
from fxcore.source.syntax import operation_at
from fxcore.torch_compat import torch_fx_class


class FailureKind(str, Enum):
    """Why a place can't be traced. Tools depend on the values, so they must not change."""

    CONTROL_FLOW = "control-flow"
    """The truth of a traced value was needed: ``if``, ``while``, ``and``, ``assert``, …"""
    LEN = "len"
    """``len(x)`` of a traced value."""
    ITERATION = "iteration"
    """A traced value was iterated: ``for``, ``*x``, ``list(x)``, …"""
    CONVERSION = "conversion"
    """A traced value was to be converted to a Python number, or formatted like a number."""
    ITEM_ASSIGNMENT = "item-assignment"
    """``x[i] = y`` or ``del x[i]`` of a traced value."""
    CONTAINMENT = "containment"
    """``y in x`` of a traced value."""
    NOT_A_SUBMODULE = "not-a-submodule"
    """A module was called that is not a submodule of the traced one."""
    NOT_A_PARAMETER = "not-a-parameter"
    """A Parameter was used that the traced module doesn't own."""
    ARGUMENT = "argument"
    """An argument or a return value can't be stored in a graph."""
    DICT_KEY = "dict-key"
    """A dict with a traced value among its keys was an argument."""
    FOREIGN_CALL = "foreign-call"
    """A traced value was passed to C++ code or another library, which refused it."""
    HIGHER_ORDER = "higher-order"
    """A Python function was passed to an operator that takes functions (``cond``, ``map``, …)."""
    TWO_TRACERS = "two-tracers"
    """Values of two different traces met in one operation."""
    CALL_BINDING = "call-binding"
    """The root's parameters can't be bound, e.g. because the concrete arguments don't fit."""
    EXCEPTION = "exception"
    """The traced code itself raised an error."""


class TraceError(torch_fx_class("TraceError", ValueError)):  # type: ignore[misc]
    """A traced value was used in a way that needs its content. It is also a ValueError and torch.fx's TraceError."""


class TraceFailure(Exception):
    """A place in the program can't be traced.

    Every `Exception` that `fxcore.Tracer.trace` raises is a `TraceFailure`. An error that was not raised by fxcore is
    replaced by an instance of both this class and the error's own type, with the original error as ``__cause__``.
    """

    kind: FailureKind = FailureKind.EXCEPTION
    frames: tuple[Frame, ...] = ()
    """The user's functions that were running, the traced forward first; the last frame's span is the place."""
    node: Node | None = None
    """The node of the traced value whose content was needed, or None."""
    passed_on: str | None = None
    """If the program failed to pass on its ``*args`` or ``**kwargs``: the parameters of the callee that these can fill,
    as in a definition, e.g. ``mask=None, scale=1.0``. None if they are not known, and for any other failure."""
    callee: str = ""
    """For a `FailureKind.FOREIGN_CALL`: the called function with its package, such as ``numpy.sqrt``; else empty."""

    @property
    def subject(self) -> Subject | None:
        """The kind of information that the value of `node` holds; None if there is no node."""
        return None if self.node is None else subject_of(self.node)

    @property
    def operation(self) -> str:
        """What the program was doing at the failing place: see `fxcore.source.syntax.operation_at`."""
        place = self.frames[-1].place if self.frames else None
        return "" if place is None else operation_at(place)

    @property
    def span(self) -> SourceSpan | None:
        """The failing expression's range; None if none of the user's functions was running."""
        return self.frames[-1].span if self.frames else None


class ControlFlowFailure(TraceFailure, TraceError):
    """A traced value was used to decide a branch."""

    kind = FailureKind.CONTROL_FLOW


class LenFailure(TraceFailure, RuntimeError):
    """The length of a traced value was needed."""

    kind = FailureKind.LEN


class IterationFailure(TraceFailure, TraceError):
    """A traced value was iterated over."""

    kind = FailureKind.ITERATION


class BackwardHookFailure(IterationFailure):
    """A module with a backward hook returned a traced value.

    For a hook from ``register_backward_hook``, torch takes the first item of what the module returns until that is a
    tensor, which a traced value never is.
    """

    @property
    def operation(self) -> str:
        """What torch was doing for the hook; the program itself only calls the module."""
        return "backward-hook"


class ConversionFailure(TraceFailure, TypeError):
    """A traced value was to be converted to a Python number, or formatted like a number."""

    kind = FailureKind.CONVERSION


class ItemAssignmentFailure(TraceFailure, TypeError):
    """An item of a traced value was to be set or deleted."""

    kind = FailureKind.ITEM_ASSIGNMENT


class ContainmentFailure(TraceFailure, TraceError):
    """The operator ``in`` was applied to a traced value."""

    kind = FailureKind.CONTAINMENT


class NotASubmoduleFailure(TraceFailure, NameError):
    """A module was called that is not a submodule of the traced one."""

    kind = FailureKind.NOT_A_SUBMODULE


class NotAParameterFailure(TraceFailure, NameError):
    """A Parameter was used that the traced module doesn't own."""

    kind = FailureKind.NOT_A_PARAMETER


class ArgumentFailure(TraceFailure, NotImplementedError):
    """A value can't be stored in a graph."""

    kind = FailureKind.ARGUMENT


class DictKeyFailure(TraceFailure, RuntimeError):
    """A dict that is to be stored in a graph has a traced value among its keys."""

    kind = FailureKind.DICT_KEY


class HigherOrderFailure(TraceFailure, RuntimeError):
    """A Python function was passed to a higher-order operator."""

    kind = FailureKind.HIGHER_ORDER


class TwoTracersFailure(TraceFailure, RuntimeError):
    """Values of two different traces met in one operation."""

    kind = FailureKind.TWO_TRACERS


class CallBindingFailure(TraceFailure, RuntimeError):
    """The root's parameters can't be bound, e.g. because the concrete arguments don't fit."""

    kind = FailureKind.CALL_BINDING


def as_failure(error: Exception, kind: FailureKind) -> TraceFailure:
    """A failure that is also an instance of ``error``'s type, with the arguments, attributes and text of ``error``.

    If no class can inherit from both that type and `TraceFailure`, the failure is a plain `TraceFailure` with the same
    arguments and attributes.
    """
    error_type: Any = type(error)
    failure: TraceFailure
    try:
        builtin: Any = _builtin_base(error_type)
        failure = builtin.__new__(_failure_type(error_type), *error.args)
        builtin.__init__(failure, *error.args)
    except TypeError:  # a class that can't be inherited from, or not together with TraceFailure
        failure = TraceFailure(*error.args)
    failure.__dict__.update(error.__dict__)
    failure.kind = kind
    return failure


@functools.lru_cache(maxsize=64)
def _failure_type(error: Any) -> type[TraceFailure]:
    return type(error.__name__, (TraceFailure, error), {"__module__": error.__module__, "__doc__": error.__doc__})


def _builtin_base(error: type[Exception]) -> type[Exception]:
    """The builtin exception class that ``error`` is or inherits from.

    To make an instance, it is enough to run this class's constructor, which sets the fields that C code reads.
    """
    return next(base for base in error.__mro__ if base.__module__ == "builtins")
