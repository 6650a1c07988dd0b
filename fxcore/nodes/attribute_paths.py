"""Reads, sets, deletes and shares attributes at dotted paths below a module (``layers.0.weight``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def _install(module: torch.nn.Module, name: str, value: object) -> None:
    """Set an attribute; a tensor that is not a parameter becomes a buffer, so that it is in the state dict."""
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def _child(module: torch.nn.Module, name: str) -> Any:
    """Return the child ``name``; if there is none, add an empty module under that name first."""
    child = getattr(module, name, None)
    if child is None:
        child = torch.nn.Module()
        setattr(module, name, child)
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
        _install(destination, name, getattr(source, name))
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
        child = getattr(source, name)
        return None if getattr(destination, name, None) is child else (child, _child(destination, name))


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
