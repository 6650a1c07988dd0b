"""Determines which names have a value before a part of a function, and which names are read after the part."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from fx_lsp.fixes.editing.edited_source import Node, Source

Loops = (ast.For, ast.While)

_AWAY = (ast.Return, ast.Continue, ast.Break)


class Flow:
    """How names are used around a part of a function, which consists of the adjacent ``nodes`` of ``source``."""

    def __init__(self, source: Source, nodes: Sequence[Node]) -> None:
        self._source = source
        self._nodes = nodes
        self._inner = {node for outer in nodes for node in ast.walk(outer)}
        self._functions = source.functions(nodes[0])
        self._loops = [outer for outer in source.around(nodes[0]) if isinstance(outer, Loops)]

    def is_bound_before(self, name: str) -> bool:
        """Whether ``name`` certainly has a value when the part begins."""
        around = [*self._source.around(self._nodes[0])]
        for function in self._functions:
            for node in ast.walk(function):
                match node:
                    case ast.arg(arg=parameter) if parameter == name and self._source.parent(node) is function.args:
                        return True
                    case ast.Name(id=stored, ctx=ast.Store()) if stored == name and node not in self._inner:
                        statement = self._source.statement(node)
                        is_sure = statement in around or self._source.parent(statement) in around
                        is_before = place(statement) < place(self._nodes[0])
                        if is_sure and is_before and not self._is_of_comprehension(node):
                            return True
        return False

    def _is_of_comprehension(self, node: ast.Name) -> bool:
        return any(isinstance(outer, ast.comprehension) for outer in self._source.around(node))

    def is_bound_by(self, name: str) -> bool:
        """Whether the part gives ``name`` a value on every path."""
        return _assigns(self._nodes, name)

    def is_read_below(self, name: str) -> bool:
        """Whether the value of ``name`` may be read after the part: below it, or in the next iteration of a loop."""
        return any(not self._is_assigned_on_the_way(name, load) for load in self._loads_below(name))

    def _loads_below(self, name: str) -> Iterator[ast.Name]:
        for node in ast.walk(self._functions[0]):
            match node:
                case ast.Name(id=loaded, ctx=ast.Load()) if loaded == name:
                    if self._is_below(node) or any(self._source.contains(loop, node) for loop in self._loops):
                        yield node

    def _is_below(self, node: ast.Name) -> bool:
        return node not in self._inner and place(node) > place(self._nodes[-1])

    def _is_assigned_on_the_way(self, name: str, load: ast.Name) -> bool:
        """Whether a statement between the end of the part and ``load`` always gives ``name`` a value."""
        for outer in (self._source.statement(load), *self._source.around(self._source.statement(load))):
            if isinstance(outer, ast.For) and self._begins_turn(outer, load) and name in _targets(outer.target):
                return True
            is_start = not self._is_below(load) and outer in self._loops
            if not isinstance(outer, ast.stmt) or outer in self._functions or is_start:
                return False
            block = self._source.block(outer)
            earlier = block[: block.index(outer)]
            if self._is_below(load):
                earlier = [statement for statement in earlier if place(statement) > place(self._nodes[-1])]
            if _assigns(earlier, name):
                return True
        return False

    def _begins_turn(self, loop: ast.For, load: ast.Name) -> bool:
        """Whether the way to ``load`` leads through the beginning of a turn of ``loop``."""
        is_same_turn = loop in self._loops and self._is_below(load)
        return not is_same_turn and any(self._source.contains(statement, load) for statement in loop.body)


def place(node: Node) -> tuple[int, int]:
    """Where ``node`` begins, for comparison with other nodes of its file."""
    return node.lineno, node.col_offset


def leaves(block: Sequence[ast.stmt], by: tuple[type[ast.stmt], ...] = (ast.Raise, *_AWAY)) -> bool:
    """Whether ``block`` always ends in a statement of one of the types in ``by``, so that nothing below it runs."""
    match block[-1:]:
        case [ast.If(body=body, orelse=orelse)]:
            return leaves(body, by) and leaves(orelse, by)
        case [ast.With(body=body)]:
            return leaves(body, by)
        case [last]:
            return isinstance(last, by)
    return False


def _assigns(statements: Iterable[ast.AST], name: str) -> bool:
    """Whether ``statements`` give ``name`` a value on every path."""
    for statement in statements:
        match statement:
            case ast.Assign() | ast.AnnAssign(value=ast.expr()) if name in _targets(statement):
                return True
            case ast.If(body=body, orelse=orelse) if _ends(body, name) and _ends(orelse, name):
                return True
            case ast.With(body=body) if _assigns(body, name):
                return True
    return False


def _ends(block: Sequence[ast.stmt], name: str) -> bool:
    return _assigns(block, name) or leaves(block)


def _targets(part: ast.AST) -> Iterator[str]:
    return (node.id for node in ast.walk(part) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
