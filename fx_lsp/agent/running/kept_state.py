"""What a call leaves to later calls besides weights and buffers.

That is what it changes in the attributes of the program's modules and of their classes, and in the globals that their
methods use. What can change in a value is compared at any depth.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch

from fx_lsp.agent.missing.missing_modules import MissingCall
from fx_lsp.agent.running.plain_values import NotComparable, to_plain

CODE = (type, FunctionType, ModuleType, torch.nn.Module, logging.Logger)
"""The types of what a program consists of. A logger only remembers which levels are enabled."""

_ATOMS = (int, float, str, bytes, type(None))
"""The types of values that are compared by what they are, not by which object they are."""

_OF_TORCH = frozenset(vars(torch.nn.Module())) - {"training"}
"""The attributes of every module, which hold its parts, weights and hooks."""


class KeptState:
    """What a program keeps before a call."""

    def __init__(self, root: torch.nn.Module, program: Callable[..., Any]) -> None:
        """``root`` holds the program's state."""
        self._root, self._program = root, program
        self._before = {name: everything_in([value]) for name, value in _kept(root, program)}

    def changes(self) -> Mapping[str, Any]:
        """The values of what has changed since then, by name, as plain ones; if one can't be read, its type."""
        now = dict(_kept(self._root, self._program))
        changed = {
            name: value
            for name, value in now.items()
            if name not in self._before or not are_same(self._before[name], everything_in([value]))
        }
        return {name: _plain(value) for name, value in changed.items()}


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
    """What can change in a value: a container's items, an object's attributes, or how often a tensor was changed."""
    if isinstance(value, torch.Tensor):
        return () if value.is_inference() else (value._version,)
    if isinstance(value, dict):
        return (*value.keys(), *value.values())
    if isinstance(value, list | tuple | set):
        return (*value,)
    return () if isinstance(value, CODE) else tuple(getattr(value, "__dict__", {}).values())


def _kept(root: torch.nn.Module, program: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """What may change, by name."""
    for name, module in root.named_modules():
        for attribute, value in vars(module).items():
            if attribute not in _OF_TORCH:
                yield f"{name}.{attribute}".removeprefix("."), value
    functions = [program] if isinstance(program, FunctionType) else []
    for cls in dict.fromkeys(cls for module in root.modules() for cls in type(module).__mro__):
        if cls.__module__.partition(".")[0] not in ("torch", "builtins"):
            yield from ((f"{cls.__name__}.{name}", value) for name, value in vars(cls).items() if _may_change(value))
            functions += [one for one in vars(cls).values() if inspect.isfunction(one)]
    for function in functions:
        for name in dict.fromkeys(_names_of(function.__code__)):
            if name in function.__globals__ and _may_change(value := function.__globals__[name]):
                yield name, value


def _may_change(value: Any) -> bool:
    return not isinstance(value, (*CODE, property, staticmethod, classmethod))


def _names_of(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_of(inner)


def _plain(value: Any) -> Any:
    try:
        return to_plain(value)
    except (NotComparable, MissingCall):
        return type(value).__name__
