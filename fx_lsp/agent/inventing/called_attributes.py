"""Finds invented numbers and texts that a module keeps, and that its methods call: they have to be modules.

Their use would show it, but a trace that fails does not get that far.
"""

from __future__ import annotations

import ast
import functools
from types import FunctionType
from typing import Any

import torch

from fx_lsp.agent.inventing.frame_code import tree_of
from fx_lsp.agent.inventing.invented_values import Probe


def called_values(root: object) -> list[str]:
    """The paths of invented values, kept by ``root`` or its submodules, that some method of their module calls."""
    found: list[str] = []
    for module in root.modules() if isinstance(root, torch.nn.Module) else ():
        kept = {name: value for name, value in vars(module).items() if isinstance(value, Probe)}
        cls: Any = type(module)
        called = _called_attributes(cls) if kept else ()
        found += [value.path for name, value in kept.items() if name in called]
    return found


@functools.lru_cache(maxsize=256)
def _called_attributes(cls: Any) -> frozenset[str]:
    """The attributes of ``self`` that the methods of a class call, except those of torch's own classes."""
    above = [base for base in cls.__mro__ if not base.__module__.startswith("torch.")]
    methods = [method for base in above for method in vars(base).values() if isinstance(method, FunctionType)]
    nodes = [node for method in methods for node in ast.walk(tree_of(method.__code__) or ast.Pass())]
    return frozenset(
        node.func.attr
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "self"
    )
