"""Metadata that new nodes inherit from an older node, or are annotated with: where a computation comes from.

`fxcore.Transformer` adds this metadata to every node that it creates, and so does an `fxcore.Interpreter` that runs on
proxies within `preserve_node_meta`. The metadata to inherit is set for the current context (thread or task) only.
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

# What a node made from another node inherits: where the computation comes from, not what the value looks like
# (a shape or a dtype is valid for the old node only).
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
    """What new nodes inherit: ``meta``, taken from the node ``origin``; nothing unless ``preserved``."""

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
    """Within the block, recorded nodes inherit the metadata of `get_current_meta`; with ``enable=False`` they don't."""
    current = _current()
    with _inheriting(current._replace(preserved=enable, meta=dict(current.meta))):
        yield


def has_preserved_node_meta() -> bool:
    """Whether the nodes that are being recorded inherit metadata."""
    heritage = _heritage.get()
    return heritage is not None and heritage.preserved


@contextlib.contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Within the block, recorded nodes inherit from ``node`` if `preserve_node_meta` is on.

    They inherit the place in the source that ``node`` comes from, and its ``meta`` unless that is empty. ``pass_name``,
    which torch.export uses to record the pass that made a node, is ignored.
    """
    current = _current()
    if not current.preserved:
        yield
        return
    meta = dict(node.meta) if node.meta else current.meta
    with _inheriting(current._replace(meta=meta, origin=node)):
        yield


def get_current_meta() -> dict[str, Any]:
    """The ``meta`` that recorded nodes inherit; within `preserve_node_meta`, changes to it take effect."""
    return _current().meta


def set_stack_trace(stack: Sequence[str]) -> None:
    """If `preserve_node_meta` is on, make recorded nodes inherit the printed ``stack``, or none if it is empty."""
    if has_preserved_node_meta():
        meta = get_current_meta()
        meta.pop("stack_trace", None)
        if stack:
            meta["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """The printed stack that nodes inherit; without `preserve_node_meta`, the caller's stack."""
    if has_preserved_node_meta():
        return [get_current_meta().get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextlib.contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Within the block, ``meta["custom"]`` of recorded nodes has these entries if `preserve_node_meta` is on.

    Annotations nest: an inner annotation adds to the outer ones and takes precedence over them.
    """
    current = _current()
    custom = {**current.meta.get("custom", {}), **annotation_dict}
    with _inheriting(current._replace(meta={**current.meta, "custom": custom})):
        yield


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[_F], _F]:
    """A decorator that makes a function run within `annotate`."""

    def decorate(function: _F) -> _F:
        @functools.wraps(function)
        def annotated(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated  # type: ignore[return-value]

    return decorate


def inherit(node: Node) -> None:
    """Copy the inherited metadata to ``node``, which has just been recorded."""
    _, meta, origin = _current()
    for key in _INHERITED:
        if key in meta:
            node.meta[key] = copy.copy(meta[key])
    if stack_trace := meta.get("stack_trace"):
        node.stack_trace = stack_trace
    if origin is not None:
        node.where = origin.where
