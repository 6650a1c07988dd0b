"""Finds out what the variables of a function hold at one of its statements, by tracing the program that calls it.

What a variable holds there depends on tensors that only a run would have. Each variable is described by how it is
computed from parameters: surely tensors as far as the trace shows, values that nothing is known about, or plain values,
which may have been chosen by what the trace could not decide. Sizes are computed from the tensors that have them, since
sizes that have nothing to do with these would prove nothing.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import torch

import fxcore
from fx_lsp.agent.building.build import Built
from fx_lsp.agent.building.custom_tracer import tracer_for
from fx_lsp.agent.proving.functions.edited_function import Definition, settings_of
from fx_lsp.agent.proving.functions.names_read import reached_names
from fx_lsp.agent.proving.functions.node_kinds import NodeKinds
from fx_lsp.agent.proving.run_in_child import ProofEnded
from fx_lsp.agent.running.kept_state import everything_in
from fx_lsp.agent.running.observation import modules_of
from fx_lsp.agent.running.side_effects import changed_places, kept_by
from fxcore.explore import explore
from fxcore.explore.untouched import untouched
from fxcore.node import Node, map_aggregate, map_arg

MOST_ARRIVALS = 32
"""If the program reaches the statement this often, its variables are not looked at."""

PLAIN = (bool, int, float, str, type(None))
"""The types of values that a program may choose."""

_FIXED = (torch.dtype, torch.device, torch.memory_format, torch.layout, torch.Size, range, type(...))
"""The types of other values that never change and are compared by what they are."""

_CONTAINERS = (list, tuple, dict, set)


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
class _Given:
    """The value of a parameter."""

    name: str


@dataclass(frozen=True)
class _Constant:
    """A value that is the same each time; a tensor is copied."""

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
    memory: list[Node] = field(default_factory=list)
    """In whose memory each of the tensors among the parameters may be."""

    @property
    def may_share_memory(self) -> bool:
        """Whether one of the tensors may be a view of another."""
        return len(set(self.memory)) < len(self.memory)

    def holds_code(self, name: str) -> bool:
        """Whether a variable holds a function, a class or a module."""
        value = self.values.get(name)
        return isinstance(value, _Constant) and not isinstance(value.value, torch.Tensor)

    def __call__(self, **given: Any) -> tuple[Any, ...]:
        """The values of the variables, in order, if the parameters have the values ``given``."""
        made: dict[int, Any] = {}
        return tuple(_value_of(value, given, made) for value in self.values.values())


def variables_at(
    built: Built,
    defined: Definition,
    lines: range,
    names: Collection[str],
    attributes: Collection[str] | None,
) -> Variables | None:
    """What those variables of a function hold that are among ``names`` when it reaches one of ``lines``.

    ``built`` is the program that calls the function. ``attributes`` are those of the method's object that the statement
    may read; None means all. None if the trace doesn't get there. Raises `ProofEnded` if it gets there with modules,
    classes or globals that are not as they were built, or if what the variables hold differs from one time to the next.
    """
    function, code = defined.plain, defined.plain.__code__
    reached = reached_names(defined.tree, defined.others)
    found: list[Variables] = []
    tracer = tracer_for(built.tracer)
    kept, modes = kept_by(built.root, function), _modes()
    reachable = {id(one) for values in kept.values() for one in everything_in(values)}
    reachable |= {id(one) for module in modules_of(built.root) for one in (*module.parameters(), *module.buffers())}

    def arrived(frame: FrameType) -> None:
        if len(found) == MOST_ARRIVALS:
            raise ProofEnded("untried", f"the trace reaches line {lines.start} too often", True)
        owner = next(iter(frame.f_locals.values()), None)
        changed = [place for place in changed_places(kept, kept_by(built.root, function)) if place.of_module]
        if _modes() != modes or any(_is_read(*place.of(built.root), owner, attributes) for place in changed):
            raise ProofEnded("untried", f"line {lines.start} depends on what the program has set before", True)
        description = _Description(reachable, reached | {*code.co_varnames})
        found.append(description.of({name: value for name, value in frame.f_locals.items() if name in names}))

    ended: list[Exception] = []
    with _watching(code, lines, arrived, ended), untouched(built.root), contextlib.suppress(Exception, SystemExit):
        explore(built.root, built.concrete_args, tracer=tracer)
    if ended:
        raise ended[0]
    changed = changed_places(kept, kept_by(built.root, function))
    if any(place.name in reached and not place.of_module for place in changed):
        raise ProofEnded("untried", "a trace changes what the program's file or its classes keep", True)
    if not found:
        return None
    first, *others = found
    for other in others:
        if first.values.keys() != other.values.keys() or not all(map(_is_like, *_both(first, other))):
            raise ProofEnded("untried", f"variables hold other values each time that line {lines.start} is run", True)
        known = {one.name: one for one in other.parameters}
        first.parameters = [_combined(one, known[one.name]) for one in first.parameters]
    return first


def _both(first: Variables, other: Variables) -> tuple[list[Any], list[Any]]:
    return [*first.values.values()], [other.values[name] for name in first.values]


def _combined(one: Parameter, other: Parameter) -> Parameter:
    """A parameter that may be what it was at either time."""
    kind = one.kind if one.kind is other.kind else None
    return replace(one, kind=kind, default=one.default if other.default else ())


def _modes() -> tuple[Any, ...]:
    """What decides what operators of torch do besides their arguments."""
    is_mixed = torch.is_autocast_enabled("cpu")
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype(), is_mixed


def _is_read(module: torch.nn.Module, attribute: str, owner: object, attributes: Collection[str] | None) -> bool:
    """Whether statements of a method of ``owner``, which read ``attributes``, may read the attribute of ``module``."""
    if attributes is None or module is owner:
        return attributes is None or attribute in attributes
    return any(isinstance(getattr(owner, name, None), torch.nn.Module) for name in attributes)


@contextlib.contextmanager
def _watching(
    code: CodeType, lines: range, arrived: Callable[[FrameType], None], ended: list[Exception]
) -> Iterator[None]:
    """Within the block, call ``arrived`` when a function reaches one of ``lines`` from another line.

    What that raises is added to ``ended``, and nothing is called from then on.
    """
    place = code.co_filename, code.co_name, code.co_firstlineno

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        running = frame.f_code  # of the same function, this may be a copy
        if (running.co_filename, running.co_name, running.co_firstlineno) != place:
            return None
        is_within = False

        def stepped(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal is_within
            if event == "line" and not ended:
                came = frame.f_lineno in lines and not is_within
                is_within = frame.f_lineno in lines
                if came:
                    try:
                        arrived(frame)
                    except Exception as end:  # which would only end the watching
                        ended.append(end)
            return stepped

        return stepped

    before = sys.gettrace()
    sys.settrace(called)
    try:
        yield
    finally:
        sys.settrace(before)


class _Description:
    """Describes variables."""

    def __init__(self, reachable: Collection[int], taken: Collection[str]) -> None:
        """``reachable``: the ``id`` of what the program keeps. ``taken``: names that are no variables' parameters."""
        self._variables = Variables()
        self._kinds = NodeKinds(torch.nn.Module())
        self._reachable = reachable
        self._taken = {*taken}
        self._by_node: dict[Node, Any] = {}
        self._by_id: dict[int, _Container | _Constant] = {}

    def of(self, values: Mapping[str, Any]) -> Variables:
        """The description of variables by name. Raises `ProofEnded` if one holds what can't be made again."""
        # First those that are all of a traced or plain value, whose parameters have their names.
        for name in sorted(values, key=lambda name: (type(values[name]) in _CONTAINERS, name)):
            self._variables.values[name] = self._described(values[name], name, is_variable=True)
        return self._variables

    def _described(self, value: Any, name: str, *, is_variable: bool = False) -> Any:
        """How ``value`` is made; ``name`` is for a parameter that is all of it."""
        if issubclass(type(value), fxcore.Proxy):
            self._kinds.root = value.tracer.root
            return self._of_node(value.node, name, is_variable=is_variable)
        if type(value) in PLAIN:
            kind = None if value is None else type(value)
            return self._parameter(Parameter(name, kind, (value,)), is_variable=is_variable)
        if id(value) not in self._by_id:
            self._by_id[id(value)] = self._of_object(value, name)
        return self._by_id[id(value)]

    def _of_object(self, value: Any, name: str) -> _Container | _Constant:
        is_kept = id(value) in self._reachable
        if type(value) in _CONTAINERS and not (is_kept and type(value) is not tuple):
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            items = tuple((key, self._described(item, f"{name}_{key}")) for key, item in pairs)
            return _Container(type(value), items)
        if isinstance(value, torch.Tensor) and not is_kept:
            return _Constant(value.detach().clone().requires_grad_(value.requires_grad))
        is_function = isinstance(value, FunctionType) and not value.__closure__
        is_code = is_function or isinstance(value, type | ModuleType | BuiltinFunctionType | torch.nn.Module)
        if not (is_kept or is_code or isinstance(value, _FIXED)):
            raise ProofEnded("untried", f"`{name}` holds an object that may change", True)
        return _Constant(value)

    def _of_node(self, node: Node, name: str = "", *, is_variable: bool = False) -> Any:
        if node not in self._by_node:
            self._by_node[node] = self._new(node, name or node.name, is_variable=is_variable)
        return self._by_node[node]

    def _new(self, node: Node, name: str, *, is_variable: bool) -> Any:
        if self._kinds.is_tensor(node):
            self._variables.memory.append(self._kinds.memory_of(node))
            return self._parameter(Parameter(name, torch.Tensor), is_variable=is_variable)
        if node.op not in ("call_function", "call_method") or not node.all_input_nodes:
            default = node.args if node.op == "placeholder" and all(type(one) in PLAIN for one in node.args) else ()
            kind = next((kind for kind in PLAIN[:4] if node.type in (kind, kind.__name__)), None)
            return self._parameter(Parameter(name, kind, default), is_variable=is_variable)
        args, kwargs = (map_arg(value, self._of_node) for value in (node.args, node.kwargs))
        return _Computed(node, args, kwargs)

    def _parameter(self, parameter: Parameter, *, is_variable: bool) -> _Given:
        name = parameter.name if parameter.name.isidentifier() else "value"
        known = {one.name for one in self._variables.parameters} | (set() if is_variable else self._taken)
        while name in known:
            name += "_"
        self._variables.parameters.append(replace(parameter, name=name))
        return _Given(name)


def _value_of(value: Any, given: Mapping[str, Any], made: dict[int, Any]) -> Any:
    """What is described by ``value``; ``made`` has what has been made already, by the ``id`` of the description."""
    if isinstance(value, _Given):
        return given[value.name]
    if not isinstance(value, _Constant | _Container | _Computed):
        return value
    if id(value) not in made:
        made[id(value)] = _new_value(value, given, made)
    return made[id(value)]


def _new_value(value: _Constant | _Container | _Computed, given: Mapping[str, Any], made: dict[int, Any]) -> Any:
    match value:
        case _Constant(constant):
            is_copied = isinstance(constant, torch.Tensor) and not isinstance(constant, torch.nn.Parameter)
            return constant.clone() if is_copied else constant
        case _Container(kind, items):
            pairs = [(key, _value_of(item, given, made)) for key, item in items]
            return dict(pairs) if kind is dict else kind(item for _, item in pairs)
        case _Computed(node, args, kwargs):
            args, kwargs = map_aggregate((args, kwargs), lambda one: _value_of(one, given, made))
            call = getattr(args[0], str(node.target)) if node.op == "call_method" else node.target
            return call(*(args[1:] if node.op == "call_method" else args), **kwargs)


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
    return type(value) is type(other) and bool(value == other)


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
    return value is other or (type(value) is type(other) and isinstance(value, _FIXED) and bool(value == other))
