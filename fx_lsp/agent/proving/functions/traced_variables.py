"""Finds out what the variables of a function hold at one of its statements, by tracing the program that calls it.

What a variable holds there depends on tensors that only a run would have. Each variable is described by how it is
computed from parameters, which are surely tensors as far as the trace shows, or values that nothing is known about.
Sizes are computed from the tensors that have them, since sizes that have nothing to do with these would prove nothing.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import CodeType, FrameType
from typing import Any

import torch

import fxcore
from fx_lsp.agent.building.build import Built
from fx_lsp.agent.building.custom_tracer import tracer_for
from fx_lsp.agent.proving.functions.edited_function import settings_of
from fx_lsp.agent.proving.functions.node_kinds import NodeKinds
from fx_lsp.agent.proving.run_in_child import ProofEnded
from fx_lsp.agent.running.kept_state import CODE
from fxcore.explore import explore
from fxcore.explore.untouched import untouched
from fxcore.node import Node, map_aggregate, map_arg

MOST_ARRIVALS = 32
"""How often the program may come to the statement, for its variables to be looked at."""

_PLAIN = (bool, int, float, str, type(None), torch.dtype, torch.device)
"""The types of values that are compared by what they are."""

_CONTAINERS = (list, tuple, dict, set)


@dataclass(frozen=True)
class Parameter:
    """A value that has to be given for the variables to be computed."""

    name: str
    kind: type | None
    """`torch.Tensor`, ``int``, ``float`` or ``bool``, or None if nothing is known about it."""


@dataclass(frozen=True)
class _Given:
    """The value of a parameter, by its number."""

    number: int


@dataclass(frozen=True)
class _Constant:
    """A value that does not depend on what the program is called with."""

    value: Any


@dataclass(frozen=True, eq=False)
class _Container:
    """A list, tuple, dict or set of other values, made anew each time."""

    kind: type
    items: tuple[tuple[Any, Any], ...]
    """Pairs of a key and a value; the keys of what has none are numbers."""


@dataclass(frozen=True, eq=False)
class _Computed:
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

    def holds_code(self, name: str) -> bool:
        """Whether a variable holds a function, a class or a module, which no statement changes."""
        value = self.values.get(name)
        return isinstance(value, _Constant) and isinstance(value.value, CODE)

    def __call__(self, *given: Any) -> tuple[Any, ...]:
        """The values of the variables, in order, if the parameters have the values ``given``."""
        computed: dict[int, Any] = {}
        return tuple(_made(value, given, computed) for value in self.values.values())


def variables_at(built: Built, code: CodeType, lines: range, names: Collection[str]) -> Variables:
    """What those variables of the function ``code`` hold that are among ``names`` when it comes to one of ``lines``.

    ``built`` is the program that calls the function. Raises `ProofEnded` if it doesn't come there, or if what the
    variables hold differs from one time to the next in more than numbers.
    """
    certain, found = (_arrivals(built, code, lines, names, go_on=go_on) for go_on in (False, True))
    if not found:
        raise ProofEnded("untried", f"the trace doesn't come to line {lines.start}", True)
    if len(found) == MOST_ARRIVALS:
        raise ProofEnded("untried", f"the trace comes to line {lines.start} too often", True)
    first, *others = found
    numbers = set() if certain else {*_numbers(first.values.items())}  # which a guess may have led to
    for other in others:
        _check_alike(first.values, other.values, numbers, lines)
        kinds = zip(first.parameters, other.parameters, strict=True)
        first.parameters = [one if one.kind is another.kind else replace(one, kind=None) for one, another in kinds]
    return _with_numbers_given(first, numbers)


def _arrivals(built: Built, code: CodeType, lines: range, names: Collection[str], *, go_on: bool) -> list[Variables]:
    """What the variables hold each time that the program comes to the statement.

    ``go_on``: also if the trace would have ended before.
    """
    tracer, found = tracer_for(built.tracer), list[Variables]()

    def arrived(frame: FrameType) -> None:
        if len(found) < MOST_ARRIVALS:
            found.append(_described(frame, names, tracer))

    with _watching(code, lines, arrived), untouched(built.root), contextlib.suppress(Exception):
        if go_on:
            explore(built.root, built.concrete_args, tracer=tracer)
        else:
            tracer.trace(built.root, built.concrete_args)
    return found


@contextlib.contextmanager
def _watching(code: CodeType, lines: range, arrived: Callable[[FrameType], None]) -> Iterator[None]:
    """Within the block, call ``arrived`` when a function comes to one of ``lines`` from another line."""
    place = code.co_filename, code.co_name, code.co_firstlineno

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        running = frame.f_code  # of the same function, this may be a copy
        if (running.co_filename, running.co_name, running.co_firstlineno) != place:
            return None
        is_within = False

        def stepped(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal is_within
            if event == "line":
                came = frame.f_lineno in lines and not is_within
                is_within = frame.f_lineno in lines
                if came:
                    arrived(frame)
            return stepped

        return stepped

    sys.settrace(called)
    try:
        yield
    finally:
        sys.settrace(None)


def _described(frame: FrameType, names: Collection[str], tracer: fxcore.Tracer) -> Variables:
    """What the variables in ``frame`` that are among ``names`` hold."""
    description = _Description(NodeKinds(tracer.root))
    values = {name: value for name, value in frame.f_locals.items() if name in names}
    # First those that are all of a traced value, whose parameters have their names.
    for name in sorted(values, key=lambda name: (type(values[name]) in _CONTAINERS, name)):
        description.add(name, values[name])
    return description.variables


class _Description:
    """Describes variables one after another."""

    def __init__(self, kinds: NodeKinds) -> None:
        self.variables = Variables()
        self._kinds = kinds
        self._by_node: dict[Node, Any] = {}

    def add(self, name: str, value: Any) -> None:
        """Describe one more variable."""
        self.variables.values[name] = self._value(value, name)

    def _value(self, value: Any, name: str) -> Any:
        """How ``value`` is made; ``name`` is for a parameter that is all of it."""
        if issubclass(type(value), fxcore.Proxy):
            return self._node(value.node, name)
        if type(value) not in _CONTAINERS:
            return _Constant(value)
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return _Container(type(value), tuple((key, self._value(item, f"{name}_{key}")) for key, item in pairs))

    def _node(self, node: Node, name: str = "") -> Any:
        if node not in self._by_node:
            self._by_node[node] = self._made(node, name)
        return self._by_node[node]

    def _made(self, node: Node, name: str) -> Any:
        kind = self._kinds.kind_of(node)
        if kind is not None or node.op not in ("call_function", "call_method") or not node.all_input_nodes:
            return self._parameter(name or node.name, kind)
        args, kwargs = (map_arg(value, self._node) for value in (node.args, node.kwargs))
        return _Computed(node, args, kwargs)

    def _parameter(self, name: str, kind: type | None) -> _Given:
        taken = {one.name for one in self.variables.parameters}
        name = name if name.isidentifier() else "value"
        while name in taken:
            name += "_"
        self.variables.parameters.append(Parameter(name, kind))
        return _Given(len(taken))


def _made(value: Any, given: tuple[Any, ...], computed: dict[int, Any]) -> Any:
    match value:
        case _Given(number):
            return given[number]
        case _Constant(constant):
            return constant
        case _Container(kind, items):
            pairs = [(key, _made(item, given, computed)) for key, item in items]
            return dict(pairs) if kind is dict else kind(item for _, item in pairs)
        case _Computed(node, args, kwargs):
            if id(value) not in computed:
                args, kwargs = map_aggregate((args, kwargs), lambda one: _made(one, given, computed))
                call = getattr(args[0], str(node.target)) if node.op == "call_method" else node.target
                computed[id(value)] = call(*(args[1:] if node.op == "call_method" else args), **kwargs)
            return computed[id(value)]
    return value


def _unlike(lines: range) -> ProofEnded:
    return ProofEnded("untried", f"the variables hold other values each time that line {lines.start} is run", True)


def _numbers(values: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """The variables that hold integers."""
    return (name for name, value in values if isinstance(value, _Constant) and type(value.value) is int)


def _check_alike(values: Mapping[str, Any], others: Mapping[str, Any], numbers: set[str], lines: range) -> None:
    """Raises `ProofEnded` unless variables hold the same at another time; add integers that differ to ``numbers``."""
    if values.keys() != others.keys():
        raise _unlike(lines)
    for name, value in values.items():
        if _is_like(value, others[name]):
            continue
        if not {name} <= {*_numbers([(name, value)])} & {*_numbers([(name, others[name])])}:
            raise _unlike(lines)
        numbers.add(name)


def _is_like(value: Any, other: Any) -> bool:
    """Whether two descriptions are of the same value, or of values that have the same part in a program."""
    match value, other:
        case _Given(), _Given():
            return bool(value == other)
        case _Constant(one), _Constant(another):
            return _is_same(one, another)
        case _Container(), _Container():
            items = zip(value.items, other.items, strict=False)
            is_alike = value.kind is other.kind and len(value.items) == len(other.items)
            return is_alike and all(one[0] == another[0] and _is_like(one[1], another[1]) for one, another in items)
        case _Computed(), _Computed():
            is_alike = (value.node.op, value.node.target) == (other.node.op, other.node.target)
            return is_alike and _are_like((value.args, value.kwargs), (other.args, other.kwargs))
    return type(value) is type(other) and _is_same(value, other)


def _are_like(arguments: Any, others: Any) -> bool:
    """Whether arguments of nodes are alike, at any depth."""
    sides: tuple[list[Any], list[Any]] = ([], [])
    shapes = [str(map_aggregate(one, _noted(side))) for one, side in zip((arguments, others), sides, strict=True)]
    return shapes[0] == shapes[1] and all(map(_is_like, *sides))


def _noted(found: list[Any]) -> Callable[[Any], None]:
    return lambda one: found.append(one)


def _is_same(value: Any, other: Any) -> bool:
    if isinstance(value, torch.nn.Module):
        return type(value) is type(other) and settings_of(value) == settings_of(other)
    if isinstance(value, torch.Tensor):
        return isinstance(other, torch.Tensor) and value.shape == other.shape and torch.equal(value, other)
    return value is other or (type(value) is type(other) and isinstance(value, _PLAIN) and bool(value == other))


def _with_numbers_given(variables: Variables, numbers: Collection[str]) -> Variables:
    """``variables`` with a parameter for each of those that hold ``numbers``."""
    found = Variables([*variables.parameters], dict(variables.values))
    taken = {one.name for one in found.parameters}
    for name in sorted(numbers):
        found.values[name] = _Given(len(found.parameters))
        found.parameters.append(Parameter(name if name not in taken else f"{name}_number", int))
    return found
