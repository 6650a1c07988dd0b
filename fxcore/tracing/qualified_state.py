"""The names of what a module owns: parameters, buffers, submodules and constant attributes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from fxcore.torch_compat import CONSTANT_TYPES


class QualifiedNames:
    """From a parameter, a buffer or a submodule to its dotted path below ``root``, in constant time.

    The first path counts where there are several, as in ``root.named_parameters()`` and its like. Each kind is looked
    through once, when it is first asked for.
    """

    def __init__(self, root: torch.nn.Module) -> None:
        self.root = root
        self._parameters: dict[int, tuple[str, object]] | None = None
        self._buffers: dict[int, tuple[str, object]] | None = None
        self._modules: dict[int, tuple[str, object]] | None = None

    def of_parameter(self, parameter: torch.nn.Parameter) -> str | None:
        """The path of a parameter; None where the root doesn't own it."""
        if self._parameters is None or id(parameter) not in self._parameters:  # one may have been registered since
            self._parameters = _by_id(self.root.named_parameters())
        return _found(self._parameters, parameter)

    def of_buffer(self, buffer: torch.Tensor) -> str | None:
        """The path of a buffer; None where the root doesn't own it."""
        if self._buffers is None:
            self._buffers = _by_id(self.root.named_buffers())
        return _found(self._buffers, buffer)

    def of_module(self, module: torch.nn.Module) -> str | None:
        """The path of a submodule; None where it isn't one."""
        if self._modules is None or id(module) not in self._modules:
            self._modules = _by_id(self.root.named_modules())
        return _found(self._modules, module)


def _by_id(named: Iterable[tuple[str, object]]) -> dict[int, tuple[str, object]]:
    # The object is kept too: another one can't get its id.
    return {id(value): (name, value) for name, value in named}


def _found(names: dict[int, tuple[str, object]], value: object) -> str | None:
    entry = names.get(id(value))
    return None if entry is None else entry[0]


def constant_attributes(root: torch.nn.Module) -> dict[Any, str]:
    """The tensors, script objects and pytree structures that are plain attributes of ``root`` and its submodules.

    Each with its dotted path, the last one where it has several.
    """
    found: dict[Any, str] = {}
    others: set[type] = set()  # few types make up nearly all attributes: a module of those alone needs no closer look
    waiting = [("", root)]
    while waiting:
        prefix, module = waiting.pop()
        kinds = set(map(type, vars(module).values()))
        if not kinds <= others:
            others.update(kind for kind in kinds if not issubclass(kind, CONSTANT_TYPES))
            found |= {value: prefix + name for name, value in vars(module).items() if type(value) not in others}
        waiting += reversed([(f"{prefix}{name}.", child) for name, child in module.named_children()])
    return found
