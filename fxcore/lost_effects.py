"""Effects of a program that leave no node: modes it enters, backward passes it defines, numbers it draws."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from fxcore.notices import NoticeKind, Notices, innermost_place
from fxcore.patching import PatchScope
from fxcore.session import current
from fxcore.source import Place, is_user_file
from fxcore.torch_compat import CHECKPOINT_GLOBALS, CHECKPOINT_STEP, DispatchMode, is_context_decorator

_MODES: tuple[tuple[type, NoticeKind], ...] = (
    (torch.no_grad, NoticeKind.GRAD_MODE),
    (torch.enable_grad, NoticeKind.GRAD_MODE),
    (torch.set_grad_enabled, NoticeKind.GRAD_MODE),
    (torch.inference_mode, NoticeKind.GRAD_MODE),
    (torch.autocast, NoticeKind.AUTOCAST),
)


def watch_effects(patches: PatchScope, notices: Notices) -> None:
    """Until ``patches`` ends, note the effects that no node has."""
    for mode, kind in _MODES:
        block = _Block(notices, kind)
        patches.replace(mode, "__enter__", block.entering)
        patches.replace(mode, "__exit__", block.leaving)
    patches.replace(torch.autograd.Function, "apply", functools.partial(_applying, notices))
    patches.replace(CHECKPOINT_GLOBALS, CHECKPOINT_STEP, functools.partial(_checkpointing, notices))


class _Block:
    """The ``with`` blocks of one mode: noted where anything was recorded in them."""

    def __init__(self, notices: Notices, kind: NoticeKind) -> None:
        self._notices = notices
        self._kind = kind
        self._entered: list[tuple[object, int, Place | None]] = []
        """Of each block, outermost first: its mode, how many nodes there were, and the place."""

    def entering(self, enter: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(enter)
        def __enter__(mode: Any) -> Any:
            session = current()
            caller = sys._getframe(1)
            if session is not None and session.recording and _is_programs(caller):
                place = innermost_place(session, caller)
                self._entered.append((mode, len(session.tracer.graph.nodes), place))
            return enter(mode)

        return __enter__

    def leaving(self, leave: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(leave)
        def __exit__(mode: Any, *error: Any) -> Any:
            session = current()
            if session is not None and self._entered and self._entered[-1][0] is mode:
                _, before, place = self._entered.pop()
                if len(session.tracer.graph.nodes) > before:
                    self._notices.at(self._kind, place)
            return leave(mode, *error)

        return __exit__


def _is_programs(frame: FrameType) -> bool:
    """Whether the program enters a mode there, by a ``with`` or by a decorator; not torch, for its own ends."""
    return is_user_file(frame.f_code.co_filename) or is_context_decorator(frame.f_code)


def _applying(notices: Notices, apply: Any) -> Any:
    """``Function.apply``, a classmethod, that notes the classes outside of torch, and torch's own checkpoint."""

    @functools.wraps(apply.__func__)
    def watched(cls: type, *args: Any, **kwargs: Any) -> Any:
        session = current()
        before = len(session.tracer.graph.nodes) if session is not None else 0
        result = apply.__func__(cls, *args, **kwargs)
        if session is not None and len(session.tracer.graph.nodes) > before:
            if cls.__module__ == CHECKPOINT_GLOBALS["__name__"]:
                notices.running(NoticeKind.CHECKPOINT)
            elif not cls.__module__.startswith("torch."):
                notices.running(NoticeKind.AUTOGRAD_FUNCTION, cls.__name__)
        return result

    return classmethod(watched)


def _checkpointing(notices: Notices, step: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(step)
    def watched(*args: Any, **kwargs: Any) -> Any:
        notices.running(NoticeKind.CHECKPOINT)
        return step(*args, **kwargs)

    return watched


class Draws(DispatchMode):
    """While entered, notes where traced programs draw random numbers: only operators on real tensors come by here."""

    def __init__(self, notices: Notices) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._notices = notices

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator ``func``."""
        session = current()
        if session is not None and session.recording and torch.Tag.nondeterministic_seeded in func.tags:
            self._notices.running(NoticeKind.FROZEN_RANDOM, str(func).rpartition(".")[0].removeprefix("aten."))
        return func(*args, **(kwargs or {}))
