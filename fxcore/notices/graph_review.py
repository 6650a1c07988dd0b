"""Finds places where a graph may differ from the program, by comparing it with the module that was traced."""

from __future__ import annotations

import difflib
import dis
import inspect
import itertools
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import CodeType, FunctionType
from typing import Any

import torch

from fxcore.graph import Graph
from fxcore.node import Node
from fxcore.nodes.numpy_values import numpy_text
from fxcore.notices.likely_type import type_of_node
from fxcore.notices.notices import NoticeKind, Notices
from fxcore.proxy import Proxy
from fxcore.source import Place, is_user_file

_IS_NONE_JUMP = re.compile(r"POP_JUMP.*_NONE")


def attribute_places(code: CodeType, name: str, operation: str = "LOAD_ATTR") -> Iterator[Place]:
    """Where ``code`` reads (or, with ``STORE_ATTR``, sets) an attribute called ``name``."""
    if name in code.co_names:
        for instruction in dis.get_instructions(code):
            if instruction.opname == operation and instruction.argval == name:
                yield code, instruction.offset


def none_tests(code: CodeType, variable: str) -> Iterator[Place]:
    """Where ``code`` tests whether a parameter is None, before anything is assigned to it."""
    instructions = list(dis.get_instructions(code))
    for at, (load, after) in enumerate(pairwise(instructions)):
        if load.argval == variable and load.opname.startswith("STORE"):
            return
        if load.argval != variable or not load.opname.startswith(("LOAD_FAST", "LOAD_DEREF")):
            continue
        if _IS_NONE_JUMP.fullmatch(after.opname):
            yield code, after.offset
        elif after.opname == "LOAD_CONST" and after.argval is None and instructions[at + 2].opname == "IS_OP":
            yield code, instructions[at + 2].offset


# How many items of a container are searched for a traced value.
_SEARCHED = 256

# How similar a name must be to another, from 0 to 1 (`difflib`'s ratio), to count as a misspelling of it.
_NEAR = 0.8


def review(root: torch.nn.Module | Callable[..., Any], graph: Graph, notices: Notices) -> None:
    """Add the notices for ``graph``, which was just traced from ``root``."""
    ran = {node.where[0]: None for node in graph.nodes if node.where is not None}
    for node in graph.nodes:
        _review_node(node, graph, notices)
    for place in itertools.chain.from_iterable(attribute_places(code, "training") for code in ran):
        notices.at(NoticeKind.TRAINING_FLAG, place)
    for node, place in _optional_inputs(root, graph):
        notices.at(NoticeKind.OPTIONAL_INPUT, place, str(node.target))
    if isinstance(root, torch.nn.Module):
        for module, name, held in _left_on_modules(root, graph):
            notices.at(NoticeKind.LEFT_ON_MODULE, _assignment(module, name, ran) or held.where, name)


def _review_node(node: Node, graph: Graph, notices: Notices) -> None:
    if node.op == "get_attr" and isinstance(graph.constants.get(str(node.target)), torch.Tensor):
        notices.at(NoticeKind.FROZEN_CONSTANT, node.where)
    numbers = (value for value in _constants(node) if isinstance(value, int | float | complex))
    if number := next(filter(None, map(numpy_text, numbers)), None):
        notices.at(NoticeKind.NUMPY_NUMBER, node.where, number)
    name = _name_read(node)
    if name is not None and not hasattr(torch.Tensor, name):
        meant = _meant(node.args[0], name)
        if meant is not None:
            notices.at(NoticeKind.UNKNOWN_ATTRIBUTE, node.where, f"{name} {meant}".rstrip())


def _constants(node: Node) -> Iterator[object]:
    """The values among a node's arguments that are neither nodes nor containers."""
    waiting: list[Any] = [node.args, node.kwargs]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, tuple | list):
            waiting += value
        elif not isinstance(value, Node):
            yield value


def _name_read(node: Node) -> str | None:
    """The name of the attribute or method that a node reads from a value."""
    if node.op == "call_method":
        return str(node.target)
    if node.op == "call_function" and node.target is getattr and len(node.args) == 2:
        return str(node.args[1])
    return None


def _meant(owner: object, name: str) -> str | None:
    """The tensor attribute that ``name`` resembles, or "" if there is none; None if ``owner`` may not be a tensor.

    An input without an annotation counts as a tensor only if there is such an attribute.
    """
    if not isinstance(owner, Node) or type_of_node(owner) is not torch.Tensor:
        return None
    as_long = [known for known in dir(torch.Tensor) if abs(len(known) - len(name)) <= 1]
    near = difflib.get_close_matches(name, as_long, n=1, cutoff=_NEAR)
    if near:
        return near[0]
    surely_tensor = owner.op != "placeholder" or owner.type is not None
    return "" if surely_tensor else None


def _optional_inputs(root: Any, graph: Graph) -> Iterator[tuple[Node, Place]]:
    """The inputs that default to None and that the traced function tests for None, each with its first such test."""
    function = type(root).forward if isinstance(root, torch.nn.Module) else root
    code = getattr(inspect.unwrap(function), "__code__", None)
    for node in graph.find_nodes(op="placeholder"):
        if code is not None and len(node.args) == 1 and node.args[0] is None:
            places = none_tests(code, str(node.target))
            yield from ((node, place) for place in itertools.islice(places, 1))


def _left_on_modules(root: torch.nn.Module, graph: Graph) -> Iterator[tuple[torch.nn.Module, str, Node]]:
    """Yield the attributes that hold a traced value, even within a container: module, name, and the value's node."""
    # The forwards of torch's own modules keep nothing.
    own = (module for module in root.modules() if not type(module).__module__.startswith("torch."))
    for module in own:
        for name, value in vars(module).items():
            if name not in ("_modules", "_parameters", "_buffers"):
                held = _proxy_in(value)
                if held is not None and held.node.graph is graph:
                    yield module, name, held.node


def _proxy_in(value: object, depth: int = 2) -> Proxy | None:
    if issubclass(type(value), Proxy):
        return value  # type: ignore[return-value]
    if depth and type(value) in (list, tuple, dict, set):
        items: Any = value.values() if isinstance(value, dict) else value
        found = (_proxy_in(item, depth - 1) for item in itertools.islice(items, _SEARCHED))
        return next((proxy for proxy in found if proxy is not None), None)
    return None


def _assignment(module: torch.nn.Module, name: str, ran: dict[CodeType, None]) -> Place | None:
    """Where the module's methods set an attribute, or else read it; methods that ran are searched before others."""
    methods = [value.__code__ for cls in type(module).__mro__ for value in vars(cls).values() if _is_method(value)]
    for codes in ([code for code in methods if code in ran], ran, methods):
        own = [code for code in codes if is_user_file(code.co_filename)]
        for operation in ("STORE_ATTR", "LOAD_ATTR"):
            places = itertools.chain.from_iterable(attribute_places(code, name, operation) for code in own)
            if (place := next(places, None)) is not None:
                return place
    return None


def _is_method(value: object) -> bool:
    return isinstance(value, FunctionType) and value.__name__ != "__init__"
