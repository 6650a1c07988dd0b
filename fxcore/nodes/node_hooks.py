"""Callbacks that are called when a graph module is edited or copied."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fxcore.node import Node

_ReplaceHook = Callable[..., object]
_NodeHook = Callable[["Node"], object]


class NodeHooks:
    """The base class of `fxcore.GraphModule` that stores the callbacks for changes to its graph.

    Code that `fxcore.graph` imports recognizes graph modules by this class, because it can't import
    `fxcore.graph_module`.

    A replace hook is called as ``hook(old=node, new=name of the replacement, user=node that used it)``, a create hook
    and an erase hook with the node, and a deepcopy hook with the copy of the module.
    """

    # Annotated here and not in the class, where TorchScript would expect types that it supports.
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
