"""Tells whether a run has changed an object, or anything that the object consists of."""

from __future__ import annotations

import collections
import ctypes
import enum
import functools
import logging
import operator
import re
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

MOST_OBJECTS = 500_000
"""How many objects an object may consist of."""

MOST_BYTES = 64 << 20
"""How many bytes its tensors may hold."""

_LASTING: tuple[type, ...] = (
    type,
    types.ModuleType,
    types.CodeType,
    types.GenericAlias,
    types.UnionType,
    re.Pattern,
    enum.Enum,
    logging.Logger,
    weakref.ref,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.GetSetDescriptorType,
)
"""Instances of these classes, and of their subclasses, can't change or are not what a constructor makes."""


class _Facts(tuple[object, ...]):
    """What is known of a tensor besides its contents."""


_ATOMS = frozenset(
    {
        *map(type, (True, 1, 1.0, 1j, "", b"", ..., NotImplemented, range(1), slice(1))),
        *(torch.Size, torch.dtype, torch.device, torch.layout, torch.memory_format, type(None), _Facts),
    }
)
"""Classes of objects that can't change and that refer to no object that can."""


_COMPARED = frozenset({int, str, bytes, _Facts})
"""Classes of equal objects that can take each other's place."""

_CHANGEABLE = frozenset(
    {dict, list, set, collections.deque, collections.OrderedDict, collections.defaultdict, torch.Tensor}
)
"""Classes of values of variables that may collect something."""

_CHANGEABLE_IN_CLASS = _CHANGEABLE | {functools._lru_cache_wrapper}
"""Among the variables of a class, these are its methods that keep their results, each for one instance."""

_TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})

Parts = list[Any]


class ChangesUnseenError(Exception):
    """An object has parts whose changes can't be seen, e.g. because a C library keeps them."""


class ObjectState:
    """The state of an object and of all that it consists of, and the variables of the classes and modules behind it."""

    def __init__(self, root: object) -> None:
        """Record the state that ``root`` has now. Raises `ChangesUnseenError`."""
        self._storages: dict[int, bytes] = {}
        self._bytes = 0
        self._parts: list[tuple[object, Parts]] = []
        self._known: set[int] = set()
        self._classes: set[type] = set()
        self._functions: dict[int, Parts] = {}
        """By the id of a function: its parts, of which its code is the first."""
        self._found = [root]
        while self._found:
            self._record(self._found.pop())

    def holds(self) -> bool:
        """Whether nothing has changed since."""
        try:
            same = all(_are_same(parts, _parts(one)) for one, parts in self._parts)
        except Exception:  # there is a part that there was not before
            return False
        return same and all(_bytes_at(at, len(content)) == content for at, content in self._storages.items())

    def recode(self, functions: Iterable[types.FunctionType]) -> None:
        """Take the code that these functions have now for part of the state, because it was edited."""
        for function in functions:
            if parts := self._functions.get(id(function)):
                parts[0] = function.__code__

    def _record(self, one: Any) -> None:
        if id(one) in self._known:
            return
        self._known.add(id(one))
        if len(self._known) > MOST_OBJECTS:
            raise ChangesUnseenError("it consists of too many objects")
        parts = _parts(one)
        self._parts.append((one, parts))  # this also keeps ``one``, and so its id
        if type(one) is types.FunctionType:
            self._functions[id(one)] = parts
        self._found += [part for part in parts if type(part) not in _ATOMS]
        cls = type(one)
        if cls in _TENSORS:
            self._record_storage(one)
        elif cls not in self._classes:
            self._classes.add(cls)
            for base in cls.__mro__:
                self._record_variables(base)

    def _record_variables(self, cls: type) -> None:
        """Record the variables of a class and of its module, and what they contain; those of torch do not change."""
        module = sys.modules.get(cls.__module__)
        if cls.__module__ == "builtins" or cls.__module__.partition(".")[0] == "torch":
            return
        for variables, classes in ((vars(cls), _CHANGEABLE_IN_CLASS), (vars(module) if module else {}, _CHANGEABLE)):
            self._parts.append((variables, _parts(variables)))
            own = [value for name, value in variables.items() if not name.startswith("__")]
            self._found += [value for value in own if type(value) in classes]

    def _record_storage(self, tensor: torch.Tensor) -> None:
        if tensor.device.type == "meta":
            return
        storage = tensor.untyped_storage()
        at = storage.data_ptr()
        if at in self._storages:
            return
        self._bytes += storage.nbytes()
        if self._bytes > MOST_BYTES:
            raise ChangesUnseenError("its tensors are too large")
        self._storages[at] = _bytes_at(at, storage.nbytes())


def _bytes_at(address: int, count: int) -> bytes:
    return ctypes.string_at(address, count) if count else b""


def _are_same(before: Parts, after: Parts) -> bool:
    if len(before) != len(after):
        return False
    return all(map(operator.is_, before, after)) or all(
        one is other or (type(one) in _COMPARED and type(one) is type(other) and one == other)
        for one, other in zip(before, after, strict=True)
    )


def _parts(one: Any) -> Parts:
    """The class of an object, and the objects that it refers to, in order. Raises `ChangesUnseenError`."""
    cls = type(one)
    if (read := _READERS.get(cls)) is not None:
        return read(one)
    if issubclass(cls, _LASTING):
        return []
    if cls.__module__ == "numpy" and hasattr(one, "tobytes"):
        return _array_parts(one)
    return [cls, *_items(one, cls), *_attributes(one, cls)]


def _tensor_parts(one: torch.Tensor) -> Parts:
    if one.device.type not in ("meta", "cpu") or one.layout is not torch.strided:
        raise ChangesUnseenError(f"a tensor is on {one.device}, with the layout {one.layout}")
    place = one.device, one.data_ptr(), one.untyped_storage().nbytes()
    facts = _Facts((one.shape, one.stride(), one.dtype, *place, one.requires_grad, one._version))
    return [type(one), facts, one.grad if one.is_leaf else None, one.__dict__]


def _array_parts(one: Any) -> Parts:
    """The parts of an array or number of numpy."""
    if one.dtype.hasobject or one.nbytes > MOST_BYTES or type(one).__name__ not in ("ndarray", one.dtype.type.__name__):
        raise ChangesUnseenError(f"it has a {type(one).__name__} of {one.dtype}")
    return [_Facts((type(one), one.shape, one.strides, one.dtype.str, one.flags.writeable, one.tobytes()))]


def _cell_parts(cell: types.CellType) -> Parts:
    try:
        return [cell.cell_contents]
    except ValueError:  # it is empty
        return []


def _function_parts(one: types.FunctionType) -> Parts:
    return [one.__code__, *(one.__closure__ or ()), one.__defaults__, one.__kwdefaults__, one.__dict__]


def _cache_parts(one: Any) -> Parts:
    """The attributes of a function that keeps its results, and how often it computed one: this adds a result.

    A result may hold what belongs to a trace, such as a proxy, and be found again in the next trace of an instance.
    """
    return [one.cache_info().misses, one.cache_info().currsize, one.__dict__]


_READERS: dict[type, Callable[[Any], Parts]] = {
    torch.Tensor: _tensor_parts,
    torch.nn.Parameter: _tensor_parts,
    dict: lambda one: [*one.keys(), *one.values()],
    list: lambda one: [*one],
    tuple: lambda one: [*one],
    types.FunctionType: _function_parts,
    types.CellType: _cell_parts,
    functools._lru_cache_wrapper: _cache_parts,
    types.MethodType: lambda one: [one.__self__, one.__func__],
    types.BuiltinFunctionType: lambda one: [one.__self__],
    types.MappingProxyType: lambda one: [*one.keys(), *one.values()],
}
"""How to read instances of exactly these classes; this is what most objects are instances of."""

_CONTAINERS: dict[type, Callable[[Any], Iterable[Any]]] = {
    object: lambda one: (),
    int: lambda one: (),
    float: lambda one: (),
    str: lambda one: (),
    list: list.__iter__,
    tuple: tuple.__iter__,
    set: set.__iter__,
    frozenset: frozenset.__iter__,
    collections.deque: collections.deque.__iter__,
    dict: lambda one: (*dict.keys(one), *dict.values(one)),
    collections.OrderedDict: lambda one: (*one.keys(), *one.values()) if one else (),
    collections.defaultdict: lambda one: (one.default_factory, *dict.keys(one), *dict.values(one)),
    functools.partial: lambda one: (one.func, one.args, one.keywords),
}
"""How to read what instances of these classes, written in C, and of their subclasses contain."""


def _items(one: Any, cls: type) -> Iterable[Any]:
    """What the innermost class written in C keeps in ``one``."""
    base = cls
    while base not in _CONTAINERS:
        if not _is_explained(base):
            raise ChangesUnseenError(f"it has a {cls.__name__}, and {base.__name__} may keep anything")
        assert base.__base__ is not None
        base = base.__base__
    return _CONTAINERS[base](one)


@functools.cache
def _is_explained(cls: type) -> bool:
    """Whether all that instances of ``cls`` have in addition to those of its base are attributes and slots."""
    assert cls.__base__ is not None
    explained = len(_slots_of(cls))
    explained += "__dict__" in vars(cls) and cls.__dictoffset__ > 0
    explained += "__weakref__" in vars(cls) and cls.__weakrefoffset__ > 0
    grown = cls.__basicsize__ - cls.__base__.__basicsize__
    return grown == explained * ctypes.sizeof(ctypes.c_void_p) and cls.__itemsize__ == cls.__base__.__itemsize__


@functools.cache
def _slots_of(cls: type) -> tuple[types.MemberDescriptorType, ...]:
    """The slots of a class. A class written in C has members without ``__slots__``, and not all of them are objects."""
    if "__slots__" not in vars(cls):
        return ()
    return tuple(value for value in vars(cls).values() if type(value) is types.MemberDescriptorType)


def _attributes(one: Any, cls: type) -> Iterator[Any]:
    if cls.__dictoffset__:
        yield object.__getattribute__(one, "__dict__")
    for base in cls.__mro__:
        for slot in _slots_of(base):
            try:
                yield slot.__get__(one)
            except AttributeError:  # it has no value
                yield slot
