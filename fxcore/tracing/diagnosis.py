"""Turns an exception that ended a trace into a failure: its kind, and where in the user's program it happened."""

from __future__ import annotations

import ast
import itertools
import re
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType
from typing import TYPE_CHECKING

import torch

from fxcore.failures import FailureKind, TraceFailure, as_failure
from fxcore.node import Node
from fxcore.source import Frame, Place, definition_span, is_user_file, return_span, traceback_places, user_frames
from fxcore.source.bytecode import is_call
from fxcore.source.syntax import call_around, callee_at
from fxcore.wrap import find_proxy

if TYPE_CHECKING:
    from fxcore.tracing.trace_session import TraceSession

# The folders of Python's own library and of installed packages.
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


# The module and the name of the function by which torch.fx's proxies record calls to torch functions.
_RECORDER_OF_TORCH_FX = ("torch.fx.proxy", "__torch_function__")


# Python's message about what is called; the arguments have no part in it.
_UNCALLABLE = re.compile(r"'(?!Proxy)\w+' object is not callable$")


@dataclass(frozen=True)
class LastFailure:
    """The failure that a tracer raised last, for which C code may have substituted another error."""

    kind: FailureKind
    place: Place | None
    node: Node | None


def diagnose(error: Exception, trace: CodeType, session: TraceSession) -> TraceFailure:
    """The failure for ``error``, which was caught in a frame that runs the code ``trace``."""
    below = error.__traceback__ and error.__traceback__.tb_next
    places = itertools.takewhile(lambda place: place[0] is not trace, traceback_places(below))
    if isinstance(error, TraceFailure):
        failure = error
        # If a nested trace raised the failure, its frames are already there.
        failure.frames = user_frames(places, session.tracer._own_code) + error.frames
    else:
        failure = _failure(error, session)
        failure.frames = user_frames(places)
    if not failure.frames and session.root_code is not None:
        failure.frames = _frame_of_root(session.root_code, session.returned)
    return failure


def _failure(error: Exception, session: TraceSession) -> TraceFailure:
    """The failure for an error that fxcore didn't raise."""
    if session.root_code is None:
        return as_failure(error, FailureKind.CALL_BINDING)
    frames = list(_user_frames(error.__traceback__))
    if not frames or isinstance(error, RecursionError):
        return as_failure(error, FailureKind.EXCEPTION)
    if _raised_by_a_proxy_of_torch_fx(error.__traceback__):
        return as_failure(error, FailureKind.TWO_TRACERS)
    frame, lasti = frames[-1]
    last = session.tracer._last_failure
    asked = last if last is not None and last.place == (frame.f_code, lasti) else None
    calls = is_call(frame.f_code, lasti) and not _UNCALLABLE.match(str(error))
    if calls and (asked is not None or _may_pass_traced_value(frame, lasti)):
        failure = as_failure(error, FailureKind.FOREIGN_CALL)
        failure.callee = callee_at(frame, lasti)
    elif library := _library_entered(frames):
        failure = as_failure(error, FailureKind.FOREIGN_CALL)
        failure.callee = library
    else:
        failure = as_failure(error, FailureKind.EXCEPTION if asked is None else asked.kind)
    failure.node = None if asked is None else asked.node
    return failure


def _may_pass_traced_value(frame: FrameType, lasti: int) -> bool:
    """Whether a traced value may be among the arguments of the call at offset ``lasti``, as far as the source shows."""
    if find_proxy(*frame.f_locals.values()) is None:
        return False
    call = call_around((frame.f_code, lasti))
    if call is None:
        return True
    names = _names_evaluated(call, frame.f_locals)
    return any(_may_hold_traced_value(value) for name, value in frame.f_locals.items() if name in names)


def _names_evaluated(node: ast.AST, variables: Mapping[str, object]) -> set[str]:
    """The names in an expression, without those in a comprehension over a variable that is empty."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        source = node.generators[0].iter
        items = variables.get(source.id) if isinstance(source, ast.Name) else None
        if type(items) in (list, tuple, dict, set, range) and not items:
            return set()
    return {name for inner in ast.iter_child_nodes(node) for name in _names_evaluated(inner, variables)}


def _may_hold_traced_value(value: object) -> bool:
    """Whether ``value`` is or holds a traced value; also true of iterators, which can't be looked into."""
    if find_proxy(value) is not None:
        return True
    if isinstance(value, Iterator):
        return True
    return not isinstance(value, type) and find_proxy(getattr(value, "__dict__", None)) is not None


def _raised_by_a_proxy_of_torch_fx(traceback: TracebackType | None) -> bool:
    """Whether a value left over from a trace by torch.fx refused to record a call with one of fxcore's values."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return False
    frame = traceback.tb_frame
    return (frame.f_globals.get("__name__"), frame.f_code.co_name) == _RECORDER_OF_TORCH_FX


def _user_frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    """The user's frames that an error passed through, outermost first, each with the offset of its instruction."""
    while traceback is not None:
        if is_user_file(traceback.tb_frame.f_code.co_filename):
            yield traceback.tb_frame, traceback.tb_lasti
        traceback = traceback.tb_next


def _library_entered(frames: list[tuple[FrameType, int]]) -> str:
    """The function of another library, e.g. ``einops.rearrange``, through which a traced value reached the last frame.

    ``""`` if that frame belongs to the package of the module that was running, or to no installed package, or if none
    of the function's variables holds a traced value.
    """
    running = next((frame for frame, _ in reversed(frames) if _runs_a_module(frame)), frames[0][0])
    package = _package(frames[-1][0])
    if package == _package(running) or not is_installed(frames[-1][0].f_code.co_filename):
        return ""
    entered = next(frame for frame, _ in frames if _package(frame) == package)
    if find_proxy(*entered.f_locals.values()) is None:
        return ""
    return f"{package}.{entered.f_code.co_name}"


def is_installed(file: str) -> bool:
    """Whether a file belongs to Python's own library or to an installed package."""
    return file.startswith(_INSTALLED)


def _runs_a_module(frame: FrameType) -> bool:
    return any(isinstance(value, torch.nn.Module) for value in itertools.islice(frame.f_locals.values(), 1))


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _frame_of_root(root: CodeType, returned: bool) -> tuple[Frame, ...]:
    span = (return_span(root) if returned else None) or definition_span(root)
    return () if span is None else (Frame(getattr(root, "co_qualname", root.co_name), span),)
