"""Describes the graph that a capture yielded, for views: its nodes, their places and values, and the modules called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.fx import GraphModule, Node

from fx_lsp.agent.capturing.break_places import span_of_line
from fx_lsp.agent.messages import Details, GraphNode, ModuleCall, ParameterUse, Span
from fx_lsp.agent.running.symbolic_sizes import value_of
from fxcore.nodes.node_text import pretty_target
from fxcore.source import is_user_file

_FRAME = re.compile(r'^\s*File "(.+)", line (\d+), in ', re.MULTILINE)
_ROOT = re.compile(r"^L\[[^]]*\]\.?")
"""How torch.compile begins the path of a module; torch.export does not."""


def details_of_graph(
    request: int, target: str, module: GraphModule, state: Mapping[str, str], root: object, given: str
) -> Details:
    """The details of the graph in ``module``, which a capture of ``root`` yielded for the input ``given``.

    ``state`` has the path of the parameter or buffer that a placeholder stands for, by the placeholder's name.
    """
    modules = dict(root.named_modules()) if isinstance(root, torch.nn.Module) else {}
    nodes = tuple(_described(node, state) for node in module.graph.nodes)
    calls = tuple(_calls(module, state, modules))
    return Details(request, target, nodes, calls, given)


def _described(node: Node, state: Mapping[str, str]) -> GraphNode:
    found = node.meta.get("val", node.meta.get("example_value"))
    value = None if found is None else value_of(found)
    sizes = () if value is None else tuple(map(str, value.sizes))
    path = state.get(node.name)
    return GraphNode(
        name=node.name,
        op=node.op if path is None else "get_attr",
        target=_target(node) if path is None else path,
        inputs=tuple(other.name for other in node.all_input_nodes),
        users=tuple(other.name for other in node.users),
        scope=_scope(node) if path is None else path.rpartition(".")[0],
        span=_span(node),
        value=value.text(sizes) if value else "",
        shape=sizes if value and value.dtype is not None else None,
        dtype=value.dtype if value else None,
    )


def _target(node: Node) -> str:
    """The target as text, e.g. ``aten.linear.default``, ``torch.relu``."""
    if isinstance(node.target, torch._ops.OpOverload):
        return str(node.target)
    return pretty_target(node.target)


def _stack(node: Node) -> list[tuple[str, str]]:
    """The paths and the class names of the modules whose calls led to ``node``, the outermost first."""
    stack = node.meta.get("nn_module_stack") or {}
    return [(_ROOT.sub("", path), _name(type_)) for path, type_ in stack.values()]


def _name(of_class: Any) -> str:
    return of_class.__name__ if isinstance(of_class, type) else str(of_class).rpartition(".")[2]


def _scope(node: Node) -> str:
    """The path of the module whose forward made ``node``; inputs belong to the root."""
    stack = _stack(node)
    is_input = node.op == "placeholder" and not isinstance(node.meta.get("example_value"), torch.nn.Parameter)
    return stack[-1][0] if stack and not is_input else ""


def _span(node: Node) -> Span | None:
    """The line of the user's code that made ``node``; torch reports no columns."""
    for file, number in reversed(_FRAME.findall(node.meta.get("stack_trace") or "")):
        if is_user_file(file):
            return span_of_line(file, int(number))
    return None


def _calls(
    module: GraphModule, state: Mapping[str, str], modules: Mapping[str, torch.nn.Module]
) -> Iterator[ModuleCall]:
    """The calls to modules, in the order in which they begin, as far as they have made nodes."""
    uses = _uses(module, state, modules)
    if "" in modules:
        yield ModuleCall("", type(modules[""]).__name__, 0, uses.pop("", ()))
    last: list[str] = []
    for node in module.graph.nodes:
        if node.op == "placeholder":
            continue
        stack = [(path, name) for path, name in _stack(node) if path]
        for depth, (path, name) in enumerate(stack, start=1):
            if path not in last:
                yield ModuleCall(path, name, depth, uses.pop(path, ()), _span(node))
        last = [path for path, _ in stack]


def _uses(
    module: GraphModule, state: Mapping[str, str], modules: Mapping[str, torch.nn.Module]
) -> dict[str, tuple[ParameterUse, ...]]:
    """By the path of a module: its own parameters that the graph uses."""
    sizes = {
        f"{path}.{name}".lstrip("."): parameter.numel()
        for path, owner in modules.items()
        for name, parameter in owner.named_parameters(recurse=False)
    }
    used: dict[str, tuple[ParameterUse, ...]] = {}
    for node in module.graph.nodes:
        name = state.get(node.name, "")
        if name in sizes and node.users:
            owner = name.rpartition(".")[0]
            used[owner] = (*used.get(owner, ()), ParameterUse(name, sizes[name]))
    return used
