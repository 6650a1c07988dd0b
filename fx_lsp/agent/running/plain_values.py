"""Converts a program's values to plain ones, which two processes can compare, and finds the tensors in them."""

from __future__ import annotations

import ctypes
import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from types import MemberDescriptorType
from typing import Any

import torch

from fx_lsp.agent.importing.stand_ins import StandIn, StandInBase
from fx_lsp.agent.missing.missing_modules import MissingCall, MissingModule
from fx_lsp.agent.running.records import Record

POINTER = struct.calcsize("P")
"""How many bytes a slot takes up in an object."""

AGAIN = "again"
"""The kind of a `Tree` for an object or a container that has been met before; the tree's only value is its number."""


LARGE = 1 << 16
"""A tensor of at least this many bytes is represented by its `Digest`."""

try:
    _array: Any = torch.zeros(1).numpy()  # not from the module `numpy`, which may be one of the workspace's
    ARRAY: Any = type(_array)
    _NUMBER: Any = type(_array[0]).__mro__[-2]  # numpy.generic, from which all are derived
except RuntimeError:  # torch can't use NumPy
    ARRAY = _NUMBER = ()
"""NumPy's class of arrays and the base class of its numbers; empty tuples without NumPy."""


@dataclass(frozen=True)
class Digest:
    """A large tensor: two of them have the same digest only if they have the same values."""

    shape: tuple[int, ...]
    dtype: str
    digest: str
    """The SHA-256 of the values, as hexadecimal digits; all NaNs count as one value."""


class NotComparable(Exception):
    """A program returned an object that can't be compared, because its state can't be read; the text names its type."""


@dataclass(frozen=True)
class Tree:
    """A container or an object, with its class's name instead of the class, which differs between processes."""

    kind: str
    keys: tuple[Any, ...] | None = None
    """The keys of a mapping."""
    values: tuple[Any, ...] = ()
    """The items, by key or in order."""
    names: tuple[str, ...] = ()
    attributes: tuple[Any, ...] = ()
    """The attributes' values, in the order of ``names``."""


def to_plain(value: Any) -> Any:
    """``value`` as tensors, numbers, strings and `Tree`s of them. Raises `NotComparable` if that is impossible.

    Raises `MissingCall` if a part is a stand-in: what something missing returns may depend on everything else.
    """
    return _Copy().of(value)


class _Copy:
    """Converts one value."""

    def __init__(self) -> None:
        self._met: dict[int, int] = {}
        """The numbers of mutable values, by id. The copy records which of them are the same object; there may be
        cycles."""
        self._tensors: dict[int, torch.Tensor | Digest] = {}
        """The copies of tensors, by id. Only a tensor's values are compared, not which object it is."""

    def of(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._tensors.setdefault(id(value), compact(value.detach()))
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            return value
        if isinstance(value, StandIn | StandInBase | MissingModule):
            raise MissingCall(_name(type(value)))
        if _is_array(value):
            return _of_array(value)
        kind, cls = _name(type(value)), value if isinstance(value, type) else type(value)
        if "<locals>" in cls.__qualname__:  # a class that the call makes anew, whose name doesn't say what it has
            raise NotComparable(_name(cls))
        if isinstance(value, type):
            return Tree(kind, values=(_name(value),))
        if isinstance(value, torch.dtype | torch.device | torch.layout):
            return Tree(kind, values=(str(value),))
        if id(value) in self._met:
            return Tree(AGAIN, values=(self._met[id(value)],))
        if not isinstance(value, tuple):
            self._met[id(value)] = len(self._met)
        return self._tree(kind, value)

    def _tree(self, kind: str, value: Any) -> Tree:
        if not isinstance(value, dict | list | tuple) and _hides_state(type(value)):
            raise NotComparable(kind)
        keys = tuple(map(self.of, value)) if isinstance(value, dict) else None
        items = tuple(map(self.of, _items(value)))
        attributes = _attributes(value)
        names = tuple(sorted(attributes))
        return Tree(kind, keys, items, names, tuple(self.of(attributes[name]) for name in names))


def compact(tensor: torch.Tensor) -> torch.Tensor | Digest:
    """A copy of a tensor or, if it is large, its digest."""
    is_plain = tensor.layout is torch.strided and tensor.device.type == "cpu" and not tensor.is_quantized
    if tensor.nbytes < LARGE or not is_plain:
        return tensor.clone()
    values = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor.resolve_neg()
    if values.is_floating_point():
        values = values.masked_fill(values.isnan(), torch.nan)
    values = values.contiguous()
    content = (ctypes.c_char * values.nbytes).from_address(values.data_ptr())
    return Digest(tuple(tensor.shape), str(tensor.dtype), hashlib.sha256(content).hexdigest())


def as_in_graph(value: Any) -> Any:
    """A plain value as a graph would return it: with a ``dict`` for each mapping, whatever the mapping's class."""
    if not isinstance(value, Tree):
        return value
    values = tuple(map(as_in_graph, value.values))
    if value.keys is not None:
        return Tree(_name(dict), value.keys, values)
    return replace(value, values=values, attributes=tuple(map(as_in_graph, value.attributes)))


def _is_array(value: Any) -> bool:
    """Whether ``value`` is a NumPy array or number; an object of a subclass may have more than values."""
    return type(value) is ARRAY or (isinstance(value, _NUMBER) and type(value).__module__ == _NUMBER.__module__)


def _of_array(value: Any) -> Tree:
    """A NumPy array or number. Raises `NotComparable` unless it holds numbers that torch has a dtype for, or text."""
    try:
        values: tuple[Any, ...] = (compact(torch.from_numpy(value.__array__().copy())),)
    except (TypeError, ValueError):  # ValueError: of another byte order
        if value.dtype.kind not in "SU":
            raise NotComparable(_name(type(value))) from None
        values = tuple(value.ravel().tolist())
    return Tree(_name(type(value)), values=(f"{value.dtype} {value.shape}", *values))


def _items(value: Any) -> Iterable[Any]:
    """What a container holds; nothing for an object."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _attributes(value: Any) -> dict[str, Any]:
    """The values of an object's own attributes, in slots or not."""
    found = dict(getattr(value, "__dict__", {}))
    for name, slot in _slots(type(value)):
        try:
            found[name] = slot.__get__(value)
        except AttributeError:  # the slot is empty
            continue
    return found


def _slots(cls: type) -> list[tuple[str, MemberDescriptorType]]:
    """The slots of ``cls`` and its bases, by qualified names, since slots of two classes may have the same name."""
    return [
        (f"{_name(base)}.{name}", slot)
        for base in cls.__mro__
        for name, slot in vars(base).items()
        if isinstance(slot, MemberDescriptorType)
    ]


def _hides_state(cls: type) -> bool:
    """Whether objects of ``cls`` hold state that is not in attributes, as objects of classes written in C do.

    Such objects are larger than their attributes account for. ``pickle`` makes the same check before it treats the
    attributes as the whole state (PEP 307).
    """
    pointers = len(_slots(cls)) + (cls.__dictoffset__ > 0) + (cls.__weakrefoffset__ > 0)
    return cls.__basicsize__ != object.__basicsize__ + POINTER * pointers


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def map_tensors(change: Callable[[torch.Tensor], torch.Tensor], value: Any) -> Any:
    """``value`` with ``change`` applied to each tensor in it."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, list | tuple):
        return type(value)(map_tensors(change, item) for item in value)
    if isinstance(value, dict):
        items = {key: map_tensors(change, item) for key, item in value.items()}
        return Record(items) if isinstance(value, Record) else items
    return value


def tensors_of(values: Iterable[Any]) -> list[torch.Tensor]:
    """The tensors in ``values``, which may be the program's own values or plain ones."""
    return list(_tensors(values, set()))


def _tensors(values: Iterable[Any], met: set[int]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, tuple) or id(value) not in met:
            met.add(id(value))
            yield from _tensors(_parts(value), met)


def _parts(value: Any) -> Iterable[Any]:
    """The items of a container or the attributes of an object; a container's attributes only repeat its items."""
    if isinstance(value, dict | list | tuple):
        return _items(value)
    return () if isinstance(value, type) or _hides_state(type(value)) else _attributes(value).values()
