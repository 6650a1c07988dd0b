"""Finds out what the variables of a function hold at one of its statements, by tracing the program that calls it.

What a variable holds there depends on tensors that only a run would have. Each variable is described by how it is
computed from parameters: surely tensors as far as the trace shows, values that nothing is known about, or plain values,
which may have been chosen by what the trace could not decide. Sizes are computed from the tensors that have them, since
sizes that have nothing to do with these would prove nothing.
"""

from __future__ import annotations

import ast
import contextlib
import operator
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any, cast

import torch

import fxcore
from fx_lsp.agent.building.build import Built
from fx_lsp.agent.building.custom_tracer import tracer_for
from fx_lsp.agent.proving.functions.described_variables import (
    CONTAINERS,
    FIXED,
    PLAIN,
    Computed,
    Constant,
    Container,
    Given,
    Parameter,
    Variables,
    is_like,
)
from fx_lsp.agent.proving.functions.edited_function import Definition
from fx_lsp.agent.proving.functions.names_read import reached_names
from fx_lsp.agent.proving.functions.node_kinds import NodeKinds
from fx_lsp.agent.proving.run_in_child import ProofEnded
from fx_lsp.agent.running.kept_state import everything_in
from fx_lsp.agent.running.observation import modules_of
from fx_lsp.agent.running.side_effects import changed_places, kept_by
from fxcore.explore import explore
from fxcore.explore.untouched import untouched
from fxcore.node import Node, map_arg

MOST_ARRIVALS = 32
"""If the program reaches the statement this often, its variables are not looked at."""


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
    classes or globals that are not as they were built, if it gets there in another mode than the function's text shows,
    or if what the variables hold differs from one time to the next.
    """
    function, code = defined.plain, defined.plain.__code__
    reached = reached_names(defined.tree, defined.others)
    found: list[Variables] = []
    tracer = tracer_for(built.tracer)
    kept, modes = kept_by(built.root, function), _modes()
    has_gradients = torch.is_grad_enabled() and _has_gradients(defined.tree, lines.start)
    reachable = {id(one) for values in kept.values() for one in everything_in(values)}
    reachable |= {id(one) for module in modules_of(built.root) for one in (*module.parameters(), *module.buffers())}

    def arrived(frame: FrameType) -> None:
        if len(found) == MOST_ARRIVALS:
            raise ProofEnded("untried", f"the trace reaches line {lines.start} too often", True)
        owner = next(iter(frame.f_locals.values()), None)
        changed = [place for place in changed_places(kept, kept_by(built.root, function)) if place.of_module]
        is_as_outside = _modes() == modes and torch.is_grad_enabled() is has_gradients
        if not is_as_outside or any(_is_read(*place.of(built.root), owner, attributes) for place in changed):
            raise ProofEnded("untried", f"line {lines.start} depends on what the program has set before", True)
        description = _Description(reachable, reached | {*code.co_varnames})
        found.append(description.of({name: value for name, value in frame.f_locals.items() if name in names}))
        found[-1].has_gradients = has_gradients

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
        _take_any_tensor(first, other)
        _take_any_tensor(other, first)
        if first.values.keys() != other.values.keys() or not all(map(is_like, *_both(first, other))):
            raise ProofEnded("untried", f"variables hold other values each time that line {lines.start} is run", True)
        known = {one.name: one for one in other.parameters}
        first.parameters = [_combined(one, known[one.name]) for one in first.parameters]
        first.has_shared_memory |= other.may_share_memory
    return first


def _take_any_tensor(first: Variables, other: Variables) -> None:
    """Let ``first`` take any tensor for each variable that holds a constant there and a traced tensor in ``other``."""
    known = {one.name: one for one in other.parameters}
    for name, value in first.values.items():
        given = other.values.get(name)
        # A parameter of another name stands for several variables, which need not be equal in ``first``.
        is_own = given == Given(name) and known[name].kind is torch.Tensor and name not in _names(first)
        constant = value.value if isinstance(value, Constant) else None
        if is_own and isinstance(constant, torch.Tensor) and constant.dtype == torch.get_default_dtype():
            first.values[name] = given
            first.parameters.append(known[name])
            first.has_shared_memory = True  # the program may keep what is constant


def _names(variables: Variables) -> set[str]:
    return {one.name for one in variables.parameters}


def _both(first: Variables, other: Variables) -> tuple[list[Any], list[Any]]:
    return [*first.values.values()], [other.values[name] for name in first.values]


def _combined(one: Parameter, other: Parameter) -> Parameter:
    """A parameter that may be what it was at either time."""
    kind = one.kind if one.kind is other.kind else None
    return replace(one, kind=kind, default=one.default if other.default else ())


def _modes() -> tuple[Any, ...]:
    """What decides what operators of torch do, apart from their arguments and the gradient mode."""
    return torch.is_inference_mode_enabled(), torch.get_default_dtype(), torch.is_autocast_enabled("cpu")


def _has_gradients(function: ast.FunctionDef, line: int) -> bool:
    """Whether gradients are recorded at a line of a function that is called with gradients, as far as its text shows.

    Only ``torch.no_grad()`` counts. What chooses another mode may have been chosen by a guess of the trace.
    """
    around = [node for node in ast.walk(function) if isinstance(node, ast.With)]
    around = [node for node in around if node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0)]
    contexts = [*function.decorator_list, *(item.context_expr for node in around for item in node.items)]
    called = [context.func for context in contexts if isinstance(context, ast.Call)]
    return not any(getattr(one, "attr", getattr(one, "id", "")) == "no_grad" for one in called)


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
        self._items: dict[tuple[Node, str], Given] = {}
        """What stands for the items of mappings that the program is given."""
        self._by_id: dict[int, Container | Constant] = {}

    def of(self, values: Mapping[str, Any]) -> Variables:
        """The description of variables by name. Raises `ProofEnded` if one holds what can't be made again."""
        # First those that are all of a traced or plain value, whose parameters have their names.
        for name in sorted(values, key=lambda name: (type(values[name]) in CONTAINERS, name)):
            self._variables.values[name] = self._described(values[name], name, is_variable=True)
        if any(mapping in self._by_node for mapping, _ in self._items):
            raise ProofEnded("untried", "variables hold a mapping and also what is in it", True)
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

    def _of_object(self, value: Any, name: str) -> Container | Constant:
        is_kept = id(value) in self._reachable
        if type(value) in CONTAINERS and not (is_kept and type(value) is not tuple):
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            items = tuple((key, self._described(item, f"{name}_{key}")) for key, item in pairs)
            return Container(type(value), items)
        if isinstance(value, torch.Tensor) and not is_kept:
            return Constant(value.detach().clone().requires_grad_(value.requires_grad))
        is_function = isinstance(value, FunctionType) and not value.__closure__
        is_code = is_function or isinstance(value, type | ModuleType | BuiltinFunctionType | torch.nn.Module)
        if not (is_kept or is_code or isinstance(value, FIXED)):
            raise ProofEnded("untried", f"`{name}` holds an object that may change", True)
        return Constant(value)

    def _of_node(self, node: Node, name: str = "", *, is_variable: bool = False) -> Any:
        if node not in self._by_node:
            self._by_node[node] = self._new(node, name or node.name, is_variable=is_variable)
        return self._by_node[node]

    def _new(self, node: Node, name: str, *, is_variable: bool) -> Any:
        if node.target is operator.getitem and isinstance(node.args[1], str):  # only mappings have such items
            item = cast("tuple[Node, str]", node.args)
            if item not in self._items:
                self._items[item] = self._given(node, name, is_variable=is_variable)
            return self._items[item]
        if self._kinds.is_tensor(node):
            return self._given(node, name, is_variable=is_variable)
        if node.op not in ("call_function", "call_method") or not node.all_input_nodes:
            default = node.args if node.op == "placeholder" and all(type(one) in PLAIN for one in node.args) else ()
            kind = next((kind for kind in PLAIN[:4] if node.type in (kind, kind.__name__)), None)
            if kind is None:  # it may be a tensor
                self._variables.memory.append(node)
            return self._parameter(Parameter(name, kind, default), is_variable=is_variable)
        args, kwargs = (map_arg(value, self._of_node) for value in (node.args, node.kwargs))
        return Computed(node, args, kwargs)

    def _given(self, node: Node, name: str, *, is_variable: bool) -> Given:
        """A parameter for what a node yields."""
        self._variables.memory.append(self._kinds.memory_of(node))
        kind = torch.Tensor if self._kinds.is_tensor(node) else None
        return self._parameter(Parameter(name, kind), is_variable=is_variable)

    def _parameter(self, parameter: Parameter, *, is_variable: bool) -> Given:
        name = parameter.name if parameter.name.isidentifier() else "value"
        known = {one.name for one in self._variables.parameters} | (set() if is_variable else self._taken)
        while name in known:
            name += "_"
        self._variables.parameters.append(replace(parameter, name=name))
        return Given(name)
