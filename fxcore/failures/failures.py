"""The ways in which a trace can fail: one exception class for each, and where it happened.

Every class also inherits the exception that torch.fx raises in the same place, so that a program that handles that
keeps working. What kind a failure is follows from what happened, never from the text of an error; so does what it hangs
on, and the operation that met it.
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
    """Why a place can't be traced. The values are for tools: they stay as they are."""

    CONTROL_FLOW = "control-flow"
    """A traced value was asked whether it is true: ``if``, ``while``, ``and``, ``assert``, …"""
    LEN = "len"
    """``len(x)`` of a traced value."""
    ITERATION = "iteration"
    """A traced value was iterated: ``for``, ``*x``, ``list(x)``, …"""
    CONVERSION = "conversion"
    """A traced value was asked for a Python number, or for its text in a number's format."""
    ITEM_ASSIGNMENT = "item-assignment"
    """``x[i] = y`` or ``del x[i]`` of a traced value."""
    CONTAINMENT = "containment"
    """``y in x`` of a traced value."""
    NOT_A_SUBMODULE = "not-a-submodule"
    """A module was called that is not below the traced one."""
    NOT_A_PARAMETER = "not-a-parameter"
    """A Parameter was used that the traced module doesn't own."""
    ARGUMENT = "argument"
    """An argument or a return value that a graph can't hold."""
    DICT_KEY = "dict-key"
    """A dict with a traced value among its keys was an argument."""
    FOREIGN_CALL = "foreign-call"
    """C++ code or another library was handed a traced value and refused it."""
    HIGHER_ORDER = "higher-order"
    """An operator that takes Python functions (``cond``, ``map``, …) was handed one."""
    TWO_TRACERS = "two-tracers"
    """Values of two different traces met in one operation."""
    CALL_BINDING = "call-binding"
    """The root's signature, or the concrete arguments for it, can't be bound."""
    EXCEPTION = "exception"
    """The traced code raised an error of its own."""


class TraceError(torch_fx_class("TraceError", ValueError)):  # type: ignore[misc]
    """A traced value was used in a way that needs to know its content: a ValueError, and torch.fx's own one."""


class TraceFailure(Exception):
    """A trace can't go through a place.

    Whatever `Exception` leaves `fxcore.Tracer.trace` is one. An error that was not raised by fxcore leaves as an
    instance of both this class and its own type, with the original as ``__cause__``.
    """

    kind: FailureKind = FailureKind.EXCEPTION
    frames: tuple[Frame, ...] = ()
    """The user's functions that were running, the traced forward first; the last one's span is the place."""
    node: Node | None = None
    """The traced value that was asked for what isn't known."""
    callee: str = ""
    """Of a `FailureKind.FOREIGN_CALL`, what was called, by its package and name: ``torch.ones``, ``numpy.sqrt``."""

    @property
    def subject(self) -> Subject | None:
        """What the value that was asked is about."""
        return None if self.node is None else subject_of(self.node)

    @property
    def operation(self) -> str:
        """What the program was doing there: see `fxcore.source.syntax.operation_at`."""
        place = self.frames[-1].place if self.frames else None
        return "" if place is None else operation_at(place)

    @property
    def span(self) -> SourceSpan | None:
        """The failing expression; None where no line of the user's is at fault (e.g. a signature)."""
        return self.frames[-1].span if self.frames else None


class ControlFlowFailure(TraceFailure, TraceError):
    """A branch was to be decided by a traced value."""

    kind = FailureKind.CONTROL_FLOW


class LenFailure(TraceFailure, RuntimeError):
    """The length of a traced value was asked for."""

    kind = FailureKind.LEN


class IterationFailure(TraceFailure, TraceError):
    """The items of a traced value were asked for."""

    kind = FailureKind.ITERATION


class ConversionFailure(TraceFailure, TypeError):
    """A Python number, or a text in a number's format, was to be made of a traced value."""

    kind = FailureKind.CONVERSION


class ItemAssignmentFailure(TraceFailure, TypeError):
    """An item of a traced value was to be set or deleted."""

    kind = FailureKind.ITEM_ASSIGNMENT


class ContainmentFailure(TraceFailure, TraceError):
    """It was asked whether something is in a traced value."""

    kind = FailureKind.CONTAINMENT


class NotASubmoduleFailure(TraceFailure, NameError):
    """A module was called that is not below the traced one."""

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
    """A higher-order operator was handed a Python function."""

    kind = FailureKind.HIGHER_ORDER


class TwoTracersFailure(TraceFailure, RuntimeError):
    """Values of two different traces met in one operation."""

    kind = FailureKind.TWO_TRACERS


class CallBindingFailure(TraceFailure, RuntimeError):
    """The root's signature, or the concrete arguments for it, can't be bound."""

    kind = FailureKind.CALL_BINDING


def as_failure(error: Exception, kind: FailureKind) -> TraceFailure:
    """A failure that is also an instance of ``error``'s type, with its arguments, attributes and text."""
    error_type: Any = type(error)
    failure: TraceFailure
    try:
        builtin: Any = _builtin_base(error_type)
        failure = builtin.__new__(_failure_type(error_type), *error.args)
        builtin.__init__(failure, *error.args)
    except TypeError:  # a class that can't be inherited from, or not together with another
        failure = TraceFailure(*error.args)
    failure.__dict__.update(error.__dict__)
    failure.kind = kind
    return failure


@functools.lru_cache(maxsize=64)
def _failure_type(error: Any) -> type[TraceFailure]:
    return type(error.__name__, (TraceFailure, error), {"__module__": error.__module__, "__doc__": error.__doc__})


def _builtin_base(error: type[Exception]) -> type[Exception]:
    """The class of Python itself that ``error`` is or inherits: it fills what C code reads, and needs no more."""
    return next(base for base in error.__mro__ if base.__module__ == "builtins")
