"""What nodes that are made now inherit of an older one, or are annotated with: where a computation comes from.

`fxcore.Transformer` uses it for every node that it writes; so does an `fxcore.Interpreter` that runs on proxies, within
`preserve_node_meta`. What is inherited holds in the current context (thread or task) only.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

from fxcore.node import Node

__all__ = [
    "annotate",
    "annotate_fn",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "set_current_meta",
    "set_stack_trace",
]

_F = TypeVar("_F", bound=Callable[..., Any])

# What a node made from another one inherits: where the computation comes from, not what its value looks like
# (a shape or a dtype holds for the old node alone).
_INHERITED = (
    "_numeric_debug_handle",
    "ac_graph_id",
    "custom",
    "from_node",
    "has_backward_hook",
    "nn_module_stack",
    "original_aten",
    "partitioner_tag",
    "quantization_tag",
    "recompute",
    "source_fn_stack",
    "torch_fn",
)


class _Heritage(NamedTuple):
    """``preserved``: whether nodes inherit at all; ``meta``: what; ``origin``: the node it was taken from."""

    preserved: bool
    meta: dict[str, Any]
    origin: Node | None = None


_heritage: ContextVar[_Heritage | None] = ContextVar("_heritage", default=None)


def _current() -> _Heritage:
    return _heritage.get() or _Heritage(preserved=False, meta={})


@contextlib.contextmanager
def _inheriting(heritage: _Heritage) -> Iterator[None]:
    token = _heritage.set(heritage)
    try:
        yield
    finally:
        _heritage.reset(token)


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Within, nodes that are recorded inherit from `get_current_meta`; with ``enable=False`` they don't."""
    current = _current()
    with _inheriting(current._replace(preserved=enable, meta=dict(current.meta))):
        yield


def has_preserved_node_meta() -> bool:
    """Whether nodes that are recorded now inherit."""
    heritage = _heritage.get()
    return heritage is not None and heritage.preserved


@contextlib.contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Within, recorded nodes inherit from ``node``, where `preserve_node_meta` is on and ``node`` has any ``meta``.

    ``pass_name``, for torch.export's records of who made a node from which, isn't used.
    """
    current = _current()
    if not current.preserved:
        yield
        return
    meta = dict(node.meta) if node.meta else current.meta
    with _inheriting(current._replace(meta=meta, origin=node)):
        yield


def get_current_meta() -> dict[str, Any]:
    """What recorded nodes inherit now, by keys of ``meta``; within `preserve_node_meta`, changing it changes that."""
    return _current().meta


def set_stack_trace(stack: Sequence[str]) -> None:
    """Let nodes inherit the printed ``stack`` where `preserve_node_meta` is on; an empty one ends that."""
    if has_preserved_node_meta():
        meta = get_current_meta()
        meta.pop("stack_trace", None)
        if stack:
            meta["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """The stack that nodes inherit, printed; without `preserve_node_meta`, that of the caller."""
    if has_preserved_node_meta():
        return [get_current_meta().get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextlib.contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Within, ``meta["custom"]`` of recorded nodes has these entries, where `preserve_node_meta` is on.

    Annotations nest: an inner one adds to the outer ones and wins over them.
    """
    current = _current()
    custom = {**current.meta.get("custom", {}), **annotation_dict}
    with _inheriting(current._replace(meta={**current.meta, "custom": custom})):
        yield


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[_F], _F]:
    """A decorator: the function runs within `annotate`."""

    def decorate(function: _F) -> _F:
        @functools.wraps(function)
        def annotated(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated  # type: ignore[return-value]

    return decorate


def inherit(node: Node) -> None:
    """Give ``node``, which has just been recorded, what it inherits."""
    _, meta, origin = _current()
    for key in _INHERITED:
        if key in meta:
            node.meta[key] = copy.copy(meta[key])
    if stack_trace := meta.get("stack_trace"):
        node.stack_trace = stack_trace
    if origin is not None:
        node.where = origin.where
