"""Reads, sets, deletes and shares attributes at dotted paths below a module (``layers.0.weight``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from fxcore.torch_compat import MODULE_REGISTRATION_HOOKS


def _install(module: torch.nn.Module, name: str, value: object) -> None:
    """Set an attribute; a tensor that is not a parameter becomes a buffer, so that it is in the state dict."""
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
        module.register_buffer(name, value)
    elif isinstance(value, torch.nn.Module) and _holds_only_modules(module) and name not in vars(module):
        module._modules[name] = value  # all that `setattr` would do; it takes longer than tracing the module's call
    else:
        setattr(module, name, value)


def _holds_only_modules(module: torch.nn.Module) -> bool:
    """Whether ``module`` is like those that `_child` adds, and adding a module to it calls no hooks."""
    return (
        type(module) is torch.nn.Module
        and not module._parameters
        and not module._buffers
        and not MODULE_REGISTRATION_HOOKS
    )


def _attribute(module: torch.nn.Module, name: str) -> Any:
    """``getattr(module, name, None)``, but fast for the children of modules and for what modules lack."""
    cls = type(module)
    if cls.__getattr__ is torch.nn.Module.__getattr__ and not hasattr(cls, name) and name not in vars(module):
        registries: tuple[Any, ...] = module._parameters, module._buffers, module._modules
        return next((registry[name] for registry in registries if name in registry), None)
    return getattr(module, name, None)


_EMPTY = vars(torch.nn.Module())


def _empty_module() -> torch.nn.Module:
    """Like ``torch.nn.Module()``, which takes as long as recording several nodes."""
    module = torch.nn.Module.__new__(torch.nn.Module)
    vars(module).update({name: value.copy() if hasattr(value, "copy") else value for name, value in _EMPTY.items()})
    return module


def _child(module: torch.nn.Module, name: str) -> Any:
    """Return the child ``name``; if there is none, add an empty module under that name first."""
    child = _attribute(module, name)
    if child is None:
        child = _empty_module()
        _install(module, name, child)
    return child


class AttributeCopier:
    """Makes one module share attributes of another, at the same paths; missing modules on the paths are created."""

    def __init__(self, from_module: torch.nn.Module, to_module: torch.nn.Module) -> None:
        self._root = from_module, to_module
        # Maps a path to the modules there in the source and in the destination; to None if both are the same module.
        self._holders: dict[str, tuple[torch.nn.Module, torch.nn.Module] | None] = {"": self._root}

    def copy(self, target: str) -> None:
        """Share the attribute at the path ``target``. Raises ``AttributeError`` if there is none."""
        path, _, name = target.rpartition(".")
        holders = self._holders_at(path)
        if holders is None:
            return  # already shared, with everything below it
        source, destination = holders
        value = _attribute(source, name)
        _install(destination, name, getattr(source, name) if value is None else value)
        if target in self._holders:  # it replaced a module created for a longer path
            self._holders = {"": self._root}

    def _holders_at(self, path: str) -> tuple[torch.nn.Module, torch.nn.Module] | None:
        if path not in self._holders:
            parent, _, name = path.rpartition(".")
            holders = self._holders_at(parent)
            self._holders[path] = None if holders is None else self._step(*holders, name)
        return self._holders[path]

    @staticmethod
    def _step(
        source: torch.nn.Module, destination: torch.nn.Module, name: str
    ) -> tuple[torch.nn.Module, torch.nn.Module] | None:
        child = _attribute(source, name)
        if child is None:
            child = getattr(source, name)
        return None if _attribute(destination, name) is child else (child, _child(destination, name))


def _copy_attr(from_module: torch.nn.Module, to_module: torch.nn.Module, target: str) -> None:
    """Make ``to_module`` share the attribute ``target`` of ``from_module``; missing modules on the path are created."""
    AttributeCopier(from_module, to_module).copy(target)


def _assign_attr(from_obj: object, to_module: torch.nn.Module, target: str) -> None:
    """Put ``from_obj`` at the path ``target`` below ``to_module``; missing modules on the path are created."""
    *path, name = target.split(".")
    for atom in path:
        to_module = _child(to_module, atom)
    _install(to_module, name, from_obj)


def _get_attr_via_attr_list(model: torch.nn.Module, attr_list: Sequence[str]) -> Any:
    value: Any = model
    for depth, atom in enumerate(attr_list):
        if depth < len(attr_list) - 1 and getattr(value, atom, None) is None:
            raise AssertionError(
                f"{'.'.join(attr_list)} can't be reached: there is no '{'.'.join(attr_list[: depth + 1])}'"
            )
        value = getattr(value, atom)
    return value


def _get_attr(model: torch.nn.Module, attr_name: str) -> Any:
    """The attribute at the path ``attr_name``.

    Raises ``AttributeError`` if the last part of the path is missing, ``AssertionError`` if an earlier part is.
    """
    return _get_attr_via_attr_list(model, attr_name.split("."))


def _del_attr(model: torch.nn.Module, attr_name: str) -> None:
    """Delete the attribute at the path ``attr_name``. Raises AttributeError or AssertionError if it is missing."""
    *path, name = attr_name.split(".")
    delattr(_get_attr_via_attr_list(model, path), name)


def _has_attr(model: torch.nn.Module, attr_name: str) -> bool:
    """Whether there is anything at the path ``attr_name``."""
    value: Any = model
    for atom in attr_name.split("."):
        if not hasattr(value, atom):
            return False
        value = getattr(value, atom)
    return True
