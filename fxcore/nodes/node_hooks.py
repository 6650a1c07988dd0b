"""Callbacks for those who watch a graph module being edited."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fxcore.node import Node

_ReplaceHook = Callable[..., object]
_NodeHook = Callable[["Node"], object]


class NodeHooks:
    """The base class of `fxcore.GraphModule` that keeps what to call when a node of its graph is changed.

    Code that `fxcore.graph` imports recognizes graph modules by it, as it can't import `fxcore.graph_module`.

    A replace hook is called ``hook(old=node, new=name of what replaces it, user=node that used it)``; a create hook and
    an erase hook with the node; a deepcopy hook with the copy of the module.
    """

    # Annotated here and not in the class, where TorchScript would look for types that it knows.
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._replace_hooks: list[_ReplaceHook] = []
        self._create_node_hooks: list[_NodeHook] = []
        self._erase_node_hooks: list[_NodeHook] = []
        self._deepcopy_hooks: list[Callable[[Any], object]] = []

    @contextlib.contextmanager
    def _set_replace_hook(self, f: _ReplaceHook) -> Iterator[None]:
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _register_replace_node_hook(self, f: _ReplaceHook) -> None:
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f: _ReplaceHook) -> None:
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f: _NodeHook) -> None:
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f: _NodeHook) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: _NodeHook) -> None:
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f: _NodeHook) -> None:
        self._erase_node_hooks.remove(f)

    def _register_deepcopy_hook(self, f: Callable[[Any], object]) -> None:
        self._deepcopy_hooks.append(f)

    def _unregister_deepcopy_hook(self, f: Callable[[Any], object]) -> None:
        self._deepcopy_hooks.remove(f)
