"""What a call leaves to later calls besides weights and buffers.

That is what it changes in the attributes of the program's modules and of their classes, and in the globals that their
methods use. What can change in a value is compared at any depth.
"""

from __future__ import annotations

import functools
import logging
import sys
import sysconfig
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import torch

from fx_lsp.agent.frame_code import names_used
from fx_lsp.agent.inventing.invented_values import InventedModule, InventedSettings
from fx_lsp.agent.missing.missing_modules import MissingCall
from fx_lsp.agent.running.plain_values import ARRAY, NotComparable, tensors_of, to_plain

_OPERATORS = (torch.library.CustomOpDef,) if hasattr(torch.library, "CustomOpDef") else ()  # since torch 2.4

CODE = (type, FunctionType, ModuleType, torch.nn.Module, logging.Logger, InventedSettings, *_OPERATORS)
"""The types of what a program consists of. A logger only remembers which levels are enabled, settings that fx-lsp
invents get their attributes when these are first read, and an operator registers itself when it is first called."""

_ATOMS = (int, float, str, bytes, type(None))
"""The types of values that are compared by what they are, not by which object they are."""

_INSTALLED = (
    *(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")),
    str(Path(torch.__file__).parent.parent),  # the user's own folder of packages, for example
)
"""The folders of Python's own modules and of packages."""

_OF_TORCH = frozenset(vars(torch.nn.Module())) - {"training"}
"""The attributes of every module, which hold its parts, weights and hooks."""


class KeptState:
    """What a program keeps before a call."""

    def __init__(self, root: torch.nn.Module, program: Callable[..., Any]) -> None:
        """``root`` holds the program's state."""
        self._root, self._program = root, program
        self._before = _contents(_kept(root, program))

    def changes(self) -> Mapping[str, Any]:
        """The values of what has changed since then, by name, as plain ones; if one can't be read, its type."""
        now = dict(_kept(self._root, self._program))
        contents = _contents(now.items())
        changed = {
            place: value
            for place, value in now.items()
            if place not in self._before or not are_same(self._before[place], contents[place])
        }
        return {place.shown: _plain(value) for place, value in changed.items()}


def _contents(kept: Iterable[tuple[_Place, Any]]) -> dict[_Place, list[Any]]:
    """What is in the value at each place. One value may be at many, as settings are that all layers have."""
    known: dict[int, list[Any]] = {}
    contents = {}
    for place, value in kept:
        if id(value) not in known:
            known[id(value)] = _within(value)
        contents[place] = known[id(value)]
    return contents


def _within(value: Any) -> list[Any]:
    return [value] if type(value) in _ATOMS or type(value) is bool else everything_in([value])


def everything_in(values: Iterable[Any]) -> list[Any]:
    """The ``values`` and everything that can change in them, each once."""
    found = [*values]
    met: set[int] = set()
    for value in found:
        if id(value) not in met:
            met.add(id(value))
            found += _items(value)
    return found


def are_same(values: list[Any], others: list[Any]) -> bool:
    """Whether the same objects, or equal atoms, are in both, as `everything_in` returns them."""
    return len(values) == len(others) and all(
        one is other or (type(one) in _ATOMS and type(one) is type(other) and one == other)
        for one, other in zip(values, others, strict=True)
    )


def _items(value: Any) -> tuple[Any, ...]:
    """What can change in a value: items, attributes, how often a tensor was changed, or a hash of an array's bytes."""
    if isinstance(value, CODE):
        return ()
    if isinstance(value, torch.Tensor):
        return () if value.is_inference() else (value._version,)
    if isinstance(value, ARRAY):
        return (hash(value.tobytes()),)
    if isinstance(value, dict):
        return (*value.keys(), *value.values())
    if isinstance(value, list | tuple | set | deque):
        return (*value,)
    return tuple(getattr(value, "__dict__", {}).values())


class _Place(NamedTuple):
    """Where a value is kept. Two places may be shown alike: an attribute of the root, and a global of that name."""

    holder: str
    """The path of a module, the name of a class, or the file of a global."""
    shown: str


def _kept(root: torch.nn.Module, program: Callable[..., Any]) -> Iterator[tuple[_Place, Any]]:
    """What may change."""
    for name, module in root.named_modules():
        for attribute, value in vars(module).items() if not isinstance(module, InventedModule) else ():
            if attribute not in _OF_TORCH:
                yield _Place(f"self.{name}", f"{name}.{attribute}".removeprefix(".")), value
    for cls in dict.fromkeys(cls for module in root.modules() for cls in type(module).__mro__ if _is_own(cls)):
        holder = f"{cls.__module__}.{cls.__qualname__}"
        for name, value in vars(cls).items():
            if _may_change(value):
                yield _Place(holder, f"{cls.__name__}.{name}"), value
        for function in vars(cls).values():
            if isinstance(function, FunctionType):
                yield from _globals_used(function)
    if isinstance(program, FunctionType):
        yield from _globals_used(program)


@functools.cache
def _is_own(cls: type) -> bool:
    """Whether a class is the program's own, rather than one of Python or of an installed package."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None) or ""
    return cls.__module__ != "builtins" and not file.startswith(_INSTALLED)


def _globals_used(function: FunctionType) -> Iterator[tuple[_Place, Any]]:
    """The globals that a function uses, and their values."""
    file = function.__code__.co_filename
    for name in names_used(function.__code__):
        if name in function.__globals__ and _may_change(value := function.__globals__[name]):
            yield _Place(file, name), value


def _may_change(value: Any) -> bool:
    return not isinstance(value, (*CODE, property, staticmethod, classmethod))


def _plain(value: Any) -> Any:
    try:
        plain = to_plain(value)
    except (NotComparable, MissingCall, RuntimeError):  # torch does not count the bytes of some sparse tensors
        return type(value).__name__
    is_dense = all(tensor.layout is torch.strided for tensor in tensors_of([plain]))
    return plain if is_dense else type(value).__name__
