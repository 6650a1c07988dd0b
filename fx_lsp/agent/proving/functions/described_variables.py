"""Describes how the values of variables are made from parameters: a tensor that is given, its size, a list of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from fx_lsp.agent.proving.functions.edited_function import settings_of
from fxcore.node import Node, map_aggregate

PLAIN = (bool, int, float, str, type(None))
"""The types of values that a program may choose."""

FIXED = (torch.dtype, torch.device, torch.memory_format, torch.layout, torch.Size, range, type(...))
"""The types of other values that never change and are compared by what they are."""

CONTAINERS = (list, tuple, dict, set)
"""The types of containers that are made anew each time."""


@dataclass(frozen=True)
class Parameter:
    """A value that has to be given for the variables to be computed."""

    name: str
    kind: type | None
    """`torch.Tensor` if it surely is one, the type of a plain value, or None if nothing is known about it."""
    default: tuple[Any, ...] = ()
    """The plain value that the trace shows, if it does."""

    @property
    def is_known(self) -> bool:
        """Whether the trace shows what it is."""
        return self.kind is not None or bool(self.default)


@dataclass(frozen=True)
class Given:
    """The value of a parameter."""

    name: str


@dataclass(frozen=True)
class Constant:
    """A value that is the same each time; a tensor is copied."""

    value: Any


@dataclass(frozen=True, eq=False)
class Container:
    """A list, tuple, dict or set of other values, made anew each time."""

    kind: type
    items: tuple[tuple[Any, Any], ...]
    """Pairs of a key and a value; the keys of what has none are numbers."""


@dataclass(frozen=True, eq=False)
class Computed:
    """What the call that a node stands for returns."""

    node: Node
    args: Any
    kwargs: Any


@dataclass
class Variables:
    """What the variables of a function hold at a statement."""

    parameters: list[Parameter] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    """By variable: how its value is made."""
    memory: list[Node] = field(default_factory=list)
    """In whose memory each of the tensors among the parameters may be."""
    has_shared_memory: bool = False
    """Whether a tensor among the parameters may be in memory that the program keeps."""
    has_gradients: bool = True
    """Whether gradients are recorded there."""

    @property
    def may_share_memory(self) -> bool:
        """Whether one of the tensors may be a view of another, or of what the program keeps."""
        return self.has_shared_memory or len(set(self.memory)) < len(self.memory)

    def holds_code(self, name: str) -> bool:
        """Whether a variable holds a function, a class or a module."""
        value = self.values.get(name)
        return isinstance(value, Constant) and not isinstance(value.value, torch.Tensor)

    def mode(self) -> torch.set_grad_enabled:
        """A context in which gradients are recorded if they are at the statement."""
        return torch.set_grad_enabled(self.has_gradients)

    def __call__(self, **given: Any) -> tuple[Any, ...]:
        """The values of the variables, in order, if the parameters have the values ``given``."""
        made: dict[int, Any] = {}
        return tuple(_value_of(value, given, made) for value in self.values.values())


def _value_of(value: Any, given: Mapping[str, Any], made: dict[int, Any]) -> Any:
    """What is described by ``value``; ``made`` has what has been made already, by the ``id`` of the description."""
    if isinstance(value, Given):
        return given[value.name]
    if not isinstance(value, Constant | Container | Computed):
        return value
    if id(value) not in made:
        made[id(value)] = _new_value(value, given, made)
    return made[id(value)]


def _new_value(value: Constant | Container | Computed, given: Mapping[str, Any], made: dict[int, Any]) -> Any:
    match value:
        case Constant(constant):
            is_copied = isinstance(constant, torch.Tensor) and not isinstance(constant, torch.nn.Parameter)
            return constant.clone() if is_copied else constant
        case Container(kind, items):
            pairs = [(key, _value_of(item, given, made)) for key, item in items]
            return dict(pairs) if kind is dict else kind(item for _, item in pairs)
        case Computed(node, args, kwargs):
            args, kwargs = map_aggregate((args, kwargs), lambda one: _value_of(one, given, made))
            call = getattr(args[0], str(node.target)) if node.op == "call_method" else node.target
            return call(*(args[1:] if node.op == "call_method" else args), **kwargs)


def is_like(value: Any, other: Any) -> bool:
    """Whether two descriptions are of the same value, or of values that have the same part in a program."""
    match value, other:
        case Given(), Given():
            return bool(value == other)
        case Constant(one), Constant(another):
            return _is_same(one, another)
        case Container(), Container():
            items = zip(value.items, other.items, strict=False)
            is_alike = value.kind is other.kind and len(value.items) == len(other.items)
            return is_alike and all(one[0] == another[0] and is_like(one[1], another[1]) for one, another in items)
        case Computed(), Computed():
            is_alike = (value.node.op, value.node.target) == (other.node.op, other.node.target)
            return is_alike and _are_like((value.args, value.kwargs), (other.args, other.kwargs))
    return type(value) is type(other) and bool(value == other)


def _are_like(arguments: Any, others: Any) -> bool:
    """Whether arguments of nodes are alike, at any depth."""
    sides: tuple[list[Any], list[Any]] = ([], [])
    shapes = [str(map_aggregate(one, _noted(side))) for one, side in zip((arguments, others), sides, strict=True)]
    return shapes[0] == shapes[1] and all(map(is_like, *sides))


def _noted(found: list[Any]) -> Callable[[Any], None]:
    return lambda one: found.append(one)


def _is_same(value: Any, other: Any) -> bool:
    if isinstance(value, torch.nn.Module):
        return type(value) is type(other) and settings_of(value) == settings_of(other)
    if isinstance(value, torch.Tensor):
        return isinstance(other, torch.Tensor) and value.shape == other.shape and torch.equal(value, other)
    return value is other or (type(value) is type(other) and isinstance(value, FIXED) and bool(value == other))
