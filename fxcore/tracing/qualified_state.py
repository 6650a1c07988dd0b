"""The dotted paths of a module's parameters, buffers, submodules and constant attributes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from fxcore.torch_compat import CONSTANT_TYPES


class QualifiedNames:
    """Maps parameters, buffers and submodules to their dotted paths below ``root``, in constant time.

    If there are several paths, the result is the first, as in ``root.named_parameters()`` and similar methods. The
    paths of each kind are collected when the first of them is requested.
    """

    def __init__(self, root: torch.nn.Module) -> None:
        self.root = root
        self._parameters: dict[int, tuple[str, object]] | None = None
        self._buffers: dict[int, tuple[str, object]] | None = None
        self._modules: dict[int, tuple[str, object]] | None = None

    def of_parameter(self, parameter: torch.nn.Parameter) -> str | None:
        """The path of a parameter; None if the root doesn't own it."""
        if self._parameters is None or id(parameter) not in self._parameters:  # one may have been registered since
            self._parameters = _by_id(self.root.named_parameters())
        return _found(self._parameters, parameter)

    def of_buffer(self, buffer: torch.Tensor) -> str | None:
        """The path of a buffer; None if the root doesn't own it."""
        if self._buffers is None:
            self._buffers = _by_id(self.root.named_buffers())
        return _found(self._buffers, buffer)

    def of_module(self, module: torch.nn.Module) -> str | None:
        """The path of a submodule; None if ``module`` isn't one."""
        if self._modules is None or id(module) not in self._modules:
            self._modules = _by_id(self.root.named_modules())
        return _found(self._modules, module)


def _by_id(named: Iterable[tuple[str, object]]) -> dict[int, tuple[str, object]]:
    # The object is kept alive too, so that no other object can get its id.
    return {id(value): (name, value) for name, value in named}


def _found(names: dict[int, tuple[str, object]], value: object) -> str | None:
    entry = names.get(id(value))
    return None if entry is None else entry[0]


def constant_attributes(root: torch.nn.Module) -> dict[Any, str]:
    """The tensors, script objects and pytree structures that are plain attributes of ``root`` and its submodules.

    Each is mapped to its dotted path, the last if it has several.
    """
    found: dict[Any, str] = {}
    others: set[type] = set()  # types of no interest; a module that only has attributes of these types is skipped
    waiting = [("", root)]
    while waiting:
        prefix, module = waiting.pop()
        if not others.issuperset(map(type, vars(module).values())):
            others.update(kind for kind in map(type, vars(module).values()) if not issubclass(kind, CONSTANT_TYPES))
            found |= {value: prefix + name for name, value in vars(module).items() if type(value) not in others}
        if module._modules:  # few have any
            waiting += reversed([(f"{prefix}{name}.", child) for name, child in module.named_children()])
    return found
