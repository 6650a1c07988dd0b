"""A part of a function as a function of its own: what it takes, what it gives, and its text."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fx_lsp.fixes.decisive import Part
from fx_lsp.fixes.source import Node, Source
from fx_lsp.names import free_names
from fx_lsp.scopes import Function, bound_names

_LOOPS = (ast.For, ast.While)
_NOT_TO_MOVE = (
    *(ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom),
    *(ast.ClassDef, ast.Delete, ast.Try, ast.With, ast.AsyncWith, ast.AsyncFor, *Function),
)


@dataclass(frozen=True)
class Extraction:
    """What a part becomes outside of its function."""

    inputs: dict[str, str]
    """Parameter -> what is passed for it."""
    outputs: tuple[str, ...]
    """The names that the part gives a value and that are read below; empty where it is an expression or returns."""
    body: str
    """Its statements, not indented, in terms of the parameters."""


def extracted(source: Source, part: Part) -> Extraction | None:
    """``part`` as a function; None where it does more than compute from names and from attributes of ``self``."""
    return _Extractor(source, part).extraction()


class _Extractor:
    def __init__(self, source: Source, part: Part) -> None:
        self._source = source
        self._nodes: Sequence[Node] = part if isinstance(part, list) else [part]
        self._is_expression = not isinstance(part, list)
        self._functions = source.functions(self._nodes[0])
        self._inner = [node for outer in self._nodes for node in ast.walk(outer)]
        self._returns = any(isinstance(node, ast.Return) for node in self._inner)

    def extraction(self) -> Extraction | None:
        """See `extracted`."""
        if not self._can_move():
            return None
        attributes = self._attributes_of_self()
        outputs = self._outputs()
        if attributes is None or outputs is None:
            return None
        names = [name for name in self._ordered_names() if self._is_input(name, outputs)]
        inputs = {name: name for name in names}
        replacements = {}
        for node in attributes:
            text = ast.unparse(node)
            taken = {*inputs, *self._ordered_names()} - {name for name, passed in inputs.items() if passed == text}
            name = node.attr if node.attr not in taken else text.replace(".", "_")
            inputs[name] = text
            replacements[node] = name
        return Extraction(inputs, tuple(outputs), self._body(replacements)) if inputs else None

    def _can_move(self) -> bool:
        """Whether nothing in the part ties it to its place, and nothing is called that can't be passed."""
        if self._is_expression and isinstance(self._source.parent(self._nodes[0]), ast.Expr):
            return False  # it is there for what it does, not for its value
        local = self._local_names()
        for node in self._inner:
            match node:
                case ast.Call(func=ast.Name(id=name)) if name in local or name in ("super", "locals", "vars"):
                    return False
                case ast.Attribute(ctx=ast.Store()):
                    return False
                case ast.Break() | ast.Continue() if not self._has_own_loop(node):
                    return False
                case ast.Constant(value=str()) if node.lineno != node.end_lineno:
                    return False
                case ast.Expr(value=value) if not isinstance(value, ast.Constant) and _changed(value) is None:
                    return False
            if isinstance(node, _NOT_TO_MOVE):
                return False
        return True

    def _has_own_loop(self, node: ast.AST) -> bool:
        return any(isinstance(outer, _LOOPS) and outer in self._inner for outer in self._source.around(node))

    def _local_names(self) -> set[str]:
        """The names of the functions around, outside of comprehensions' own."""
        return {name for function in self._functions for name in bound_names(function)}

    def _self_name(self) -> str | None:
        """What the method calls its object."""
        method = self._functions[-1]
        is_method = isinstance(self._source.parent(method), ast.ClassDef)
        return method.args.args[0].arg if is_method and method.args.args else None

    def _attributes_of_self(self) -> list[ast.Attribute] | None:
        """The values that the part reads from ``self``; None where it uses ``self`` otherwise, or calls of its own."""
        self_name = self._self_name()
        found = []
        for node in self._inner:
            if isinstance(node, ast.Name) and node.id == self_name:
                value = self._value_of_self(node)
                if value is None:
                    return None
                found.append(value)
        return sorted(found, key=_place)

    def _value_of_self(self, name: ast.Name) -> ast.Attribute | None:
        """The widest ``self.a.b`` around ``self``, without a method that is called; None for ``self.method()``."""
        chain: list[ast.expr] = [name]
        for inner, outer in pairwise((name, *self._source.around(name))):
            if isinstance(outer, ast.Attribute):
                chain.append(outer)
                continue
            if isinstance(outer, ast.Call) and outer.func is inner:
                chain.pop()
            break
        outer = self._source.parent(chain[-1])
        is_indexed_call = isinstance(outer, ast.Subscript) and _is_called(self._source, outer)
        value = chain[-1]
        return value if isinstance(value, ast.Attribute) and not is_indexed_call else None

    def _ordered_names(self) -> list[str]:
        """The local names that the part reads or changes, in the order in which they come first."""
        free = {name for node in self._nodes for name in free_names(node)}
        read = (free & self._local_names()) | self._stored()
        names = sorted(
            (node for node in self._inner if isinstance(node, ast.Name) and node.id in read),
            key=_place,
        )
        return [name for name in dict.fromkeys(node.id for node in names) if name != self._self_name()]

    def _stored(self) -> set[str]:
        """The names that the part gives a value, or changes what they stand for."""
        if self._is_expression:
            return set()
        hidden = {name for node in self._inner if isinstance(node, ast.comprehension) for name in bound_names(node)}
        stored = {node.id for node in self._inner if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        changed = {_changed(node) for node in self._inner}
        return (stored - hidden) | {name for name in changed if name is not None}

    def _outputs(self) -> list[str] | None:
        """What is stored here and read elsewhere; None where a name may be left without a value, or nothing is."""
        if self._is_expression or self._returns:
            return []
        elsewhere = {
            node.id
            for node in ast.walk(self._functions[0])
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in self._inner
        }
        outputs = [name for name in self._ordered_names() if name in self._stored() and name in elsewhere]
        sure = all(self._is_bound_before(name) or _assigns(self._nodes, name) for name in outputs)
        return outputs if outputs and sure else None

    def _is_input(self, name: str, outputs: Iterable[str]) -> bool:
        return self._is_bound_before(name) or (name not in self._stored() and name not in outputs)

    def _is_bound_before(self, name: str) -> bool:
        """Whether ``name`` has a value, for sure, when the part begins."""
        first = self._nodes[0]
        around = [*self._source.around(first)]
        for function in self._functions:
            for node in ast.walk(function):
                match node:
                    case ast.arg(arg=parameter) if parameter == name and self._source.parent(node) is function.args:
                        return True
                    case ast.Name(id=stored, ctx=ast.Store()) if stored == name and node not in self._inner:
                        statement = self._source.statement(node)
                        if _place(statement) < _place(first) and (
                            statement in around or self._source.parent(statement) in around
                        ):
                            return True
        return False

    def _body(self, replacements: dict[ast.Attribute, str]) -> str:
        """The text of the part, with names in the place of what is read from ``self``."""
        first, last = self._nodes[0], self._nodes[-1]
        start, end = self._source.offsets(first)[0], self._source.offsets(last)[1]
        text = self._source.text[start:end]
        for node in sorted(replacements, key=_place, reverse=True):
            begin, stop = (offset - start for offset in self._source.offsets(node))
            text = text[:begin] + replacements[node] + text[stop:]
        if isinstance(first, ast.expr):
            return f"return ({text})" if "\n" in text else f"return {text}"
        indent = self._source.indent(first)
        return "\n".join(line.removeprefix(indent) for line in text.split("\n"))


def _place(node: Node) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _is_called(source: Source, node: ast.expr) -> bool:
    """Whether ``node``, or an item of it, is what a call calls."""
    outer = source.parent(node)
    if isinstance(outer, ast.Subscript) and outer.value is node:
        return _is_called(source, outer)
    return isinstance(outer, ast.Call) and outer.func is node


def _changed(node: ast.AST) -> str | None:
    """The name whose value ``node`` changes in place: ``x[i] = y``, ``x.add_(y)``."""
    match node:
        case ast.Subscript(ctx=ast.Store()):
            target: ast.expr = node
            while isinstance(target, (ast.Subscript, ast.Attribute)):
                target = target.value
            return target.id if isinstance(target, ast.Name) else None
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method.endswith("_"):
            return name
    return None


def _assigns(statements: Iterable[ast.AST], name: str) -> bool:
    """Whether ``name`` has a value after ``statements``, whichever way they went."""
    for statement in statements:
        match statement:
            case ast.Assign() | ast.AnnAssign(value=ast.expr()) if name in _targets(statement):
                return True
            case ast.If(body=body, orelse=orelse) if _ends(body, name) and _ends(orelse, name):
                return True
    return False


def _ends(block: Sequence[ast.stmt], name: str) -> bool:
    return _assigns(block, name) or (bool(block) and isinstance(block[-1], ast.Raise))


def _targets(statement: ast.stmt) -> Iterator[str]:
    return (node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
