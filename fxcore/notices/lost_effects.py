"""Effects of a program that its graph lacks: modes, custom backward passes, random draws, and in-place writes.

``y += x`` is recorded as an addition that makes a new value, so other references to ``y``, and the tensor that ``y`` is
a view of, aren't changed. A method such as ``fill_`` is recorded as a call to that method, but if its result isn't
used, dead-code elimination may drop the call.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from fxcore.graph import Graph
from fxcore.node import Node
from fxcore.notices.likely_type import type_of_node
from fxcore.notices.notices import NoticeKind, Notices, innermost_place
from fxcore.source import Place, is_user_file
from fxcore.source.bytecode import is_in_place_operator
from fxcore.torch_compat import CHECKPOINT_GLOBALS, CHECKPOINT_STEP, DispatchMode, is_context_decorator
from fxcore.tracing.patching import PatchScope
from fxcore.tracing.trace_session import current

_MODES: tuple[tuple[type, NoticeKind], ...] = (
    (torch.no_grad, NoticeKind.GRAD_MODE),
    (torch.enable_grad, NoticeKind.GRAD_MODE),
    (torch.set_grad_enabled, NoticeKind.GRAD_MODE),
    (torch.inference_mode, NoticeKind.GRAD_MODE),
    (torch.autocast, NoticeKind.AUTOCAST),
)


def watch_effects(patches: PatchScope, notices: Notices) -> None:
    """Until ``patches`` ends, note the effects that leave no node."""
    for mode, kind in _MODES:
        block = _Block(notices, kind)
        patches.replace(mode, "__enter__", block.entering)
        patches.replace(mode, "__exit__", block.leaving)
    patches.replace(torch.autograd.Function, "apply", functools.partial(_applying, notices))
    patches.replace(CHECKPOINT_GLOBALS, CHECKPOINT_STEP, functools.partial(_checkpointing, notices))


class _Block:
    """Notes the ``with`` blocks of one mode, e.g. `torch.no_grad`, in which any node was recorded."""

    def __init__(self, notices: Notices, kind: NoticeKind) -> None:
        self._notices = notices
        self._kind = kind
        # For each block, outermost first: its mode, the number of nodes at its start, and its place.
        self._entered: list[tuple[object, int, Place | None]] = []

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
    """Whether the program itself, not torch, enters a mode in ``frame``, by a ``with`` or a decorator."""
    return is_user_file(frame.f_code.co_filename) or is_context_decorator(frame.f_code)


def _applying(notices: Notices, apply: Any) -> Any:
    """Wrap the classmethod ``Function.apply`` to note calls for classes outside torch and for torch's checkpoint.

    Since torch 2.14 it isn't written in Python, and has no ``__func__``.
    """

    @functools.wraps(getattr(apply, "__func__", apply))
    def watched(cls: type, *args: Any, **kwargs: Any) -> Any:
        session = current()
        before = len(session.tracer.graph.nodes) if session is not None else 0
        result = apply.__get__(None, cls)(*args, **kwargs)
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
    """While entered, notes where traced programs draw random numbers. Only operators on real tensors get here."""

    def __init__(self, notices: Notices) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._notices = notices

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator ``func``, and note it if it draws random numbers."""
        session = current()
        if session is not None and session.recording and torch.Tag.nondeterministic_seeded in func.tags:
            self._notices.running(NoticeKind.FROZEN_RANDOM, str(func).rpartition(".")[0].removeprefix("aten."))
        return func(*args, **(kwargs or {}))


# fmt: off
# Methods whose results share the tensor's memory.
_VIEWS = frozenset((
    "chunk", "detach", "diagonal", "expand", "expand_as", "movedim", "narrow", "permute", "select", "split", "squeeze",
    "swapaxes", "t", "transpose", "unbind", "unflatten", "unfold", "unsqueeze", "view", "view_as",
))
# fmt: on


def note_lost_writes(graph: Graph, notices: Notices) -> None:
    """Note each write whose effect on another value may be lost."""
    order = {node: position for position, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        written = node.args[0] if node.args else None
        if isinstance(written, Node) and _is_lost(node, written) and _is_seen_later(node, written, order):
            notices.at(NoticeKind.LOST_WRITE, node.where, str(getattr(node.target, "__name__", node.target)))


def _is_lost(node: Node, written: Node) -> bool:
    """Whether ``node`` is an in-place write that isn't recorded as such, or that has no users."""
    if node.op == "call_function" and node.where is not None and is_in_place_operator(*node.where):
        return type_of_node(written) in (torch.Tensor, None) and _is_operator(node.target)
    return not node.users and _writes(node)


def _is_operator(target: object) -> bool:
    return getattr(operator, getattr(target, "__name__", ""), None) is target


def _writes(node: Node) -> bool:
    name = str(getattr(node.target, "__name__", node.target))
    if node.op not in ("call_function", "call_method") or name == "requires_grad_":
        return False
    return (name.endswith("_") and not name.endswith("__")) or node.kwargs.get("inplace") is True


def _is_seen_later(node: Node, written: Node, order: dict[Node, int]) -> bool:
    """Whether the written value is used after the write, directly or through a value that it is a view of."""
    if any(order[user] > order[node] for user in written.users):
        return True
    if written.op == "get_attr":
        return not node.users and _writes(node)
    viewed = _viewed(written)
    return viewed is not None and (viewed.op == "get_attr" or _is_seen_later(node, viewed, order))


def _viewed(node: Node) -> Node | None:
    """The node that the value of ``node`` is a view of; None if it isn't a view."""
    source = node.args[0] if node.args else None
    if not isinstance(source, Node) or type_of_node(source) not in (torch.Tensor, None):
        return None
    if node.op == "call_method":
        return source if node.target in _VIEWS else None
    if node.target is operator.getitem:
        return None if _gathers(node.args[1]) else source
    return source if node.target is getattr and node.args[1] in ("T", "mT", "data", "real", "imag") else None


def _gathers(index: object) -> bool:
    """Whether an index contains a tensor or a list, so that indexing makes a copy."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, Node | list) for part in parts)
