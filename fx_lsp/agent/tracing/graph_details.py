"""Describes what was traced, for views: the nodes, their places and values, and the order of the calls to modules."""

from __future__ import annotations

import contextlib
import dataclasses
import linecache
import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.nn.parameter import is_lazy

import fxcore
from fx_lsp.agent.building.build import Built
from fx_lsp.agent.messages import Details, GraphNode, ModuleCall, ParameterUse, Span
from fx_lsp.agent.running.meta_run import NotRun
from fx_lsp.agent.running.node_shapes import NodeValues, values_of_nodes
from fx_lsp.agent.running.observation import Input, forward_of
from fx_lsp.agent.searching.example_inputs import evaluated
from fx_lsp.agent.searching.input_candidates import candidates
from fx_lsp.agent.traceback_steps import describe, to_span
from fx_lsp.agent.tracing.further_failures import Recorded
from fxcore.code.serialization import import_block
from fxcore.codegen import PythonCode
from fxcore.exec_order import ExecOrderTracer, ExecutionInfo
from fxcore.exec_order import ModuleCall as ExecutedCall
from fxcore.graph import Graph
from fxcore.node import Node
from fxcore.nodes.node_text import pretty_target
from fxcore.source import Place, span_at


def details_of(request: int, target: str, built: Built, inputs: Iterator[Input]) -> Iterator[Details]:
    """The details of a program that can be traced: first without, then with its nodes' values.

    The program is traced again. The values are those for the first of ``inputs`` that the program runs on, if there is
    one (see `values_of_nodes`). Raises what tracing raises.
    """
    tracer, root = built.tracer, built.root
    recorder = ExecOrderTracer(deep=True)
    with recorder.patch_tracer(tracer, root if isinstance(root, torch.nn.Module) else torch.nn.Module()):
        graph = tracer.trace(root, built.concrete_args)
    code = graph.python_code("self")
    nodes, imports = _Nodes(tracer.root, _lines(graph, code), {}), imports_of(code)
    names = _parameter_names(tracer.root)  # running on meta may replace the parameters

    def told(shapes: NodeValues | None) -> Details:
        described = tuple(nodes.described(node, shapes) for node in graph.nodes)
        order = _order(tracer.root, names, recorder.exec_info, shapes) if recorder.exec_info else ()
        given, symbols = (shapes.input, dict(shapes.symbols)) if shapes else ("", {})
        return Details(request, target, described, order, given, symbols, imports=imports)

    first = told(None)
    yield first
    try:
        shapes = values_of_nodes(graph, tracer.root, forward_of(root), inputs)
    except Exception as error:  # finding inputs runs the user's code, and not every module can be moved to meta
        problem = str(error) if isinstance(error, NotRun) else describe(error)
        yield dataclasses.replace(first, problem=problem)
        return
    yield told(shapes)


def details_of_failing(request: int, target: str, recorded: Recorded) -> Details:
    """The details of a program that can't be traced: what could still be recorded, and where it fails."""
    nodes = _Nodes(recorded.root, {}, recorded.failing)
    described = tuple(nodes.described(node, None) for node in recorded.graph.nodes)
    root, order = recorded.root, recorded.order
    calls = _order(root, _parameter_names(root), order, None) if order else ()
    return Details(request, target, described, calls, outcome="failed")


def parameter_count(root: object) -> int:
    """How many numbers the parameters of ``root`` hold; 0 if it is not a module.

    Parameters that get their shapes only when the module is called are left out.
    """
    return sum(map(_size, root.parameters())) if isinstance(root, torch.nn.Module) else 0


def _size(parameter: torch.nn.Parameter) -> int:
    return 0 if is_lazy(parameter) else parameter.numel()


def inputs_for(built: Built, known: Input | None, file: str, namespace: dict[str, Any]) -> Iterator[Input]:
    """Inputs that the program may accept: the ``known`` input, then those found in its file, then guesses."""
    return candidates(built.root, _fixed(built), known, "".join(linecache.getlines(file)), namespace)


def only_input(built: Built, arguments: str, namespace: dict[str, Any]) -> Iterator[Input]:
    """The input that ``arguments``, with their parentheses, stand for. Raises `NotRun` if they can't be evaluated."""
    try:
        given = evaluated(arguments, namespace)
    except Exception as error:
        raise NotRun(f"the input can't be evaluated: {describe(error)}") from None
    yield Input(given.args, {**given.kwargs, **_fixed(built)})


def _fixed(built: Built) -> Mapping[str, Any]:
    """The values of the parameters that are not inputs of the graph."""
    return built.concrete_args if isinstance(built.concrete_args, Mapping) else {}


class _Nodes:
    """Describes the nodes of one graph."""

    def __init__(
        self, root: torch.nn.Module, lines: Mapping[str, int], failing: Mapping[Node, tuple[Span, ...]]
    ) -> None:
        self._root = root
        self._lines = lines
        self._failing = failing

    def described(self, node: Node, shapes: NodeValues | None) -> GraphNode:
        """Describe one node, with its value if ``shapes`` has it."""
        span = node.span
        value, sizes = shapes.values.get(node.name, (None, ())) if shapes else (None, ())
        is_tensor = value is not None and value.dtype is not None
        return GraphNode(
            name=node.name,
            op=node.op,
            target=pretty_target(node.target),
            inputs=tuple(other.name for other in node.all_input_nodes),
            users=tuple(other.name for other in node.users),
            scope=self._scope(node),
            module=self._module(node),
            span=to_span(span) if span else None,
            line=self._lines.get(node.name),
            value=value.text(sizes) if value else "",
            shape=sizes if is_tensor else None,
            dtype=value.dtype if value else None,
            fails=self._failing.get(node, ()),
        )

    def _module(self, node: Node) -> str:
        """The class of the module that ``node`` calls; empty if it calls none, or one that is not below the root."""
        if node.op == "call_module":
            with contextlib.suppress(AttributeError):
                return type(self._root.get_submodule(str(node.target))).__name__
        return ""

    def _scope(self, node: Node) -> str:
        """The innermost module of the node's stack; a call to a module belongs to the module that makes the call."""
        stack = [path for path, _ in node.meta.get("nn_module_stack", {}).values()]
        if node.op == "call_module" and stack:
            stack.pop()
        return stack[-1] if stack else ""


def imports_of(code: PythonCode) -> tuple[str, ...]:
    """The import statements for the globals of generated code, for users who have torch.fx and not fxcore.

    For each global that no statement can import, there is a comment instead.
    """
    return tuple(dict.fromkeys(_import_of(name, value) for name, value in code.globals.items()))


def _import_of(name: str, value: object) -> str:
    try:
        return re.sub(r"\bfxcore\b", "torch.fx", import_block({name: value}))
    except Exception:  # the text depends on an object of the user's code, which may raise anything
        return f"# No import was found for `{name}`; define it here."


def _lines(graph: Graph, code: PythonCode) -> dict[str, int]:
    """The line of each node in the generated code, from 1."""
    nodes = list(graph.nodes)
    lines: dict[str, int] = {}
    for line, index in (code._lineno_map or {}).items():
        if index is not None:
            lines.setdefault(nodes[index].name, line + code._prologue_start)
    return lines


def _parameter_names(root: torch.nn.Module) -> dict[torch.nn.Parameter, str]:
    return {parameter: name for name, parameter in root.named_parameters()}


def _order(
    root: torch.nn.Module,
    names: Mapping[torch.nn.Parameter, str],
    info: ExecutionInfo,
    shapes: NodeValues | None,
) -> tuple[ModuleCall, ...]:
    """The calls to modules; each parameter is listed with the first call to the innermost called module that has it."""
    if root not in info.module_forward_order:
        return ()  # a function was traced
    paths = {module: path for path, module in root.named_modules()}
    calls = [ExecutedCall(root, None), *(call for call in info.calls if call.module in paths)]
    called = [paths[call.module] for call in calls]
    uses: dict[str, list[ParameterUse]] = {path: [] for path in called}
    for parameter in filter(names.__contains__, info.param_forward_order):
        name = names[parameter]
        owner = next(path for path in _upwards(name) if path in uses)
        uses[owner].append(ParameterUse(name, _size(parameter)))
    return tuple(
        ModuleCall(
            path,
            type(call.module).__name__,
            depth=sum(above in uses for above in _upwards(path)) if path else 0,
            parameters=tuple(uses[path]) if path not in called[:at] else (),
            span=_span(call.place),
            value=_value(call.result, shapes),
        )
        for at, (path, call) in enumerate(zip(called, calls, strict=True))
    )


def _span(place: Place | None) -> Span | None:
    span = span_at(*place) if place else None
    return to_span(span) if span else None


def _value(result: Any, shapes: NodeValues | None) -> str:
    """What a call returned, as text; empty if any part of the result is unknown."""
    if isinstance(result, fxcore.Proxy):
        value, sizes = shapes.values.get(result.node.name, (None, ())) if shapes else (None, ())
        return value.text(sizes) if value else ""
    if isinstance(result, list | tuple):
        items = [_value(item, shapes) for item in result]
        return f"({', '.join(items)})" if items and all(items) else ""
    return ""


def _upwards(path: str) -> list[str]:
    """The paths of the modules that contain ``path``, the innermost first, the root's (empty) last."""
    atoms = path.split(".")
    return [".".join(atoms[:depth]) for depth in range(len(atoms) - 1, -1, -1)]
