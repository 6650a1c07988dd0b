"""Finds invented values that a module keeps and that have to be modules: its methods call them, or parts of them.

Their use would show it, but a trace that fails does not get that far.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable
from types import FunctionType
from typing import Any

import torch

from fx_lsp.agent.frame_code import tree_of
from fx_lsp.agent.inventing.invented_values import InventedSettings, Probe, is_invented


def called_values(root: object) -> list[str]:
    """The paths of invented values, kept by ``root`` or its submodules, that some method of their module calls."""
    found: list[str] = []
    for module in root.modules() if isinstance(root, torch.nn.Module) else ():
        kept = {name: value for name, value in vars(module).items() if isinstance(value, Probe)}
        cls: Any = type(module)
        called = _called_attributes(cls) if kept else ()
        found += [value.path for name, value in kept.items() if name in called]
    return found


def holders_of_parts(root: object, made: Iterable[tuple[str, Any]]) -> list[str]:
    """The paths of settings, kept by ``root`` or its submodules, that have modules that are not registered.

    As a module, such an object registers its parts: ``self.model.encoder(x)``. ``made`` are the invented objects, each
    with its path. An object is left out if the program may read a setting from it that means something else in a
    module, such as ``self.args.half``.
    """
    modules = list(root.modules()) if isinstance(root, torch.nn.Module) else []
    registered = {id(module) for module in modules}
    lost = [path for path, one in made if is_invented(one) and id(one) not in registered]
    kept = (
        (type(module), name, str(vars(value)["_path"]))
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, InventedSettings)
    )
    paths = dict.fromkeys(path for cls, name, path in kept if not _reads_settings(cls, (f"self.{name}", path)))
    return [path for path in paths if any(one.startswith(f"{path}.") for one in lost)]


def _reads_settings(cls: type, objects: tuple[str, ...]) -> bool:
    """Whether methods of ``cls`` read from one of ``objects``, without a call, an attribute that every module has."""
    nodes = _nodes_of(cls)
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    read = (node for node in nodes if isinstance(node, ast.Attribute) and id(node) not in called)
    return any(hasattr(_MODULE, node.attr) and ast.unparse(node.value) in objects for node in read)


_MODULE = torch.nn.Module()


@functools.lru_cache(maxsize=256)
def _called_attributes(cls: Any) -> frozenset[str]:
    """The attributes of ``self`` that the methods of a class call, except those of torch's own classes."""
    return frozenset(
        node.func.attr
        for node in _nodes_of(cls)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "self"
    )


def _nodes_of(cls: type) -> list[ast.AST]:
    """The syntax of the methods of a class, except those of torch's own classes."""
    above = [base for base in cls.__mro__ if not base.__module__.startswith("torch.")]
    methods = [method for base in above for method in vars(base).values() if isinstance(method, FunctionType)]
    return [node for method in methods for node in ast.walk(tree_of(method.__code__) or ast.Pass())]
