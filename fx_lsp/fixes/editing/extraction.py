"""Turns a part of a function into a separate function: its parameters, its results and its body."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fx_lsp.documents.name_resolution import free_names
from fx_lsp.documents.scopes import Function, bound_names
from fx_lsp.fixes.editing.data_flow import Flow, Loops, place
from fx_lsp.fixes.editing.decision_extent import Part
from fx_lsp.fixes.editing.edited_source import Node, Source

_NOT_TO_MOVE = (
    *(ast.Await, ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom),
    *(ast.ClassDef, ast.Delete, ast.Try, ast.AsyncWith, ast.AsyncFor, *Function),
)

_CHANGING = frozenset({"add", "append", "clear", "extend", "insert", "pop", "remove", "setdefault", "update"})
"""Methods that change a list, a set or a dict; those that change a tensor end with ``_``."""

_REPORTING = frozenset(
    {"_assert", "_check", "critical", "debug", "error", "exception", "info", "log", "print", "warn", "warning"}
)
"""Functions, and methods of loggers, that only report something or raise an error."""


@dataclass(frozen=True)
class Extraction:
    """A part of a function as a separate function."""

    inputs: dict[str, str]
    """Parameter -> the argument to pass for it."""
    outputs: tuple[str, ...]
    """The names that the part assigns and that are read below it; empty for an expression, or if the part returns."""
    body: str
    """The statements of the function, not indented."""
    returns: bool = False
    """Whether the part itself returns."""


def extracted(source: Source, part: Part) -> Extraction | None:
    """``part`` as a function; None if it does more than compute from names and from attributes of ``self``."""
    return _Extractor(source, part).extraction()


class _Extractor:
    def __init__(self, source: Source, part: Part) -> None:
        self._source = source
        self._nodes: Sequence[Node] = part if isinstance(part, list) else [part]
        self._is_expression = not isinstance(part, list)
        self._flow = Flow(source, self._nodes)
        self._functions = source.functions(self._nodes[0])
        self._outside = self._calls_to_leave()
        left = {id(node) for call in self._outside for node in ast.walk(call)}
        self._inner = [node for outer in self._nodes for node in ast.walk(outer) if id(node) not in left]
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
        replacements: dict[ast.expr, str] = {}
        for node in (*self._outside, *attributes):
            text = ast.unparse(node)
            taken = {*inputs, *self._ordered_names()} - {name for name, passed in inputs.items() if passed == text}
            value = _named(node)
            name = value.attr if value.attr not in taken else ast.unparse(value).replace(".", "_")
            inputs[name] = text
            replacements[node] = name
        return Extraction(inputs, tuple(outputs), self._body(replacements), self._returns) if inputs else None

    def _calls_to_leave(self) -> list[ast.Call]:
        """The calls of methods that the function can receive the results of: the part makes them first of all."""
        match self._nodes[0]:
            case ast.Assign(value=first) | ast.AugAssign(value=first) | ast.Return(value=ast.expr() as first):
                pass
            case ast.If(test=first) | ast.For(iter=first) | (ast.expr() as first):
                pass
            case _:
                return []
        calls = [*_certain_calls(first, self._self_name())]
        return calls if calls != [first] or self._does_more_than_evaluate else []

    @property
    def _does_more_than_evaluate(self) -> bool:
        """Whether the part does something with its first value: decides by it, or writes it to a tensor."""
        match self._nodes[0]:
            case ast.Assign(targets=targets):
                return any(isinstance(target, ast.Subscript) for target in targets)
        return isinstance(self._nodes[0], ast.If | ast.For | ast.AugAssign)

    def _can_move(self) -> bool:
        """Whether the part can run in another function: it does not depend on its place, and calls no local name."""
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
                case ast.Expr(value=value) if not self._is_known_effect(value):
                    return False
                case ast.NamedExpr() if self._is_expression:
                    return False
            if isinstance(node, _NOT_TO_MOVE):
                return False
        return True

    def _is_known_effect(self, value: ast.expr) -> bool:
        """Whether the statement ``value`` is a constant, changes a name's value in place, or only reports something.

        Or several of these, as in ``rows.append(i), columns.append(j)``. Another function might change a list that it
        is given, of which a graph passes a copy.
        """
        if isinstance(value, ast.Tuple):
            return all(map(self._is_known_effect, value.elts))
        if isinstance(value, ast.Constant) or changed_in_place(value) is not None:
            return True
        match value:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name) as function):
                return name in _REPORTING and root_name(function) not in {*self._local_names(), None}
        return False

    def _has_own_loop(self, node: ast.AST) -> bool:
        return any(isinstance(outer, Loops) and outer in self._inner for outer in self._source.around(node))

    def _local_names(self) -> set[str]:
        """The local names of the functions around the part, except those of comprehensions."""
        return {name for function in self._functions for name in bound_names(function)}

    def _self_name(self) -> str | None:
        """The method's name for its instance, usually ``self``; None outside a method."""
        method = self._functions[-1]
        is_method = isinstance(self._source.parent(method), ast.ClassDef)
        return method.args.args[0].arg if is_method and method.args.args else None

    def _attributes_of_self(self) -> list[ast.Attribute] | None:
        """The attributes that the part reads from ``self``; None if it uses ``self`` in another way."""
        self_name = self._self_name()
        found = []
        for node in self._inner:
            if isinstance(node, ast.Name) and node.id == self_name:
                value = self._value_of_self(node)
                if value is None:
                    return None
                found.append(value)
        return sorted(found, key=place)

    def _value_of_self(self, name: ast.Name) -> ast.Attribute | None:
        """The longest attribute chain that starts at ``name``, e.g. ``self.a.b``; None for ``self.method()``.

        A method called at the chain's end is left off.
        """
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
        """The local names that the part reads or changes, in the order of their first use."""
        free = {name for node in self._nodes for name in free_names(node)}
        read = (free & self._local_names()) | self._stored()
        names = sorted(
            (node for node in self._inner if isinstance(node, ast.Name) and node.id in read),
            key=place,
        )
        return [name for name in dict.fromkeys(node.id for node in names) if name != self._self_name()]

    def _stored(self) -> set[str]:
        """The names that the part assigns, or whose values it changes in place."""
        if self._is_expression:
            return set()
        hidden = {name for node in self._inner if isinstance(node, ast.comprehension) for name in bound_names(node)}
        stored = {node.id for node in self._inner if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        changed = {changed_in_place(node) for node in self._inner}
        return (stored - hidden) | {name for name in changed if name is not None}

    def _outputs(self) -> list[str] | None:
        """The names that the part assigns and that are read below it; empty for an expression, or if the part returns.

        None if no assigned name is read below, unless the part only reports something, or if one that is read may be
        unbound there.
        """
        if self._is_expression or self._returns or self._only_reports:
            return []
        stored = self._stored()
        outputs = [name for name in self._ordered_names() if name in stored and self._flow.is_read_below(name)]
        sure = all(self._flow.is_bound_before(name) or self._flow.is_bound_by(name) for name in outputs)
        return outputs if outputs and sure else None

    @property
    def _only_reports(self) -> bool:
        """Whether the part does nothing but print, warn or log."""
        inner = [node for node in self._inner if isinstance(node, ast.stmt)]
        return all(isinstance(node, ast.If | ast.Expr) for node in inner) and not self._stored()

    def _is_input(self, name: str, outputs: Iterable[str]) -> bool:
        return self._flow.is_bound_before(name) or (name not in self._stored() and name not in outputs)

    def _body(self, replacements: dict[ast.expr, str]) -> str:
        """The text of the part, with parameters instead of what it gets from ``self``."""
        first, last = self._nodes[0], self._nodes[-1]
        start, end = self._source.offsets(first)[0], self._source.offsets(last)[1]
        text = self._source.text[start:end]
        for node in sorted(replacements, key=place, reverse=True):
            begin, stop = (offset - start for offset in self._source.offsets(node))
            text = text[:begin] + replacements[node] + text[stop:]
        if isinstance(first, ast.Call) and _is_lazy(first):
            return f"return tuple({text})"
        if isinstance(first, ast.expr):
            return f"return ({text})" if "\n" in text else f"return {text}"
        indent = self._source.indent(first)
        return "\n".join(line.removeprefix(indent) for line in text.split("\n"))


def _certain_calls(value: ast.AST, self_name: str | None) -> Iterator[ast.Call]:
    """The outermost calls of methods of ``self`` and of its attributes that evaluating ``value`` certainly makes."""
    match value:
        case ast.Call(func=ast.Attribute() | ast.Subscript() as method) if root_name(method) == self_name:
            yield value
        case ast.BinOp() | ast.UnaryOp() | ast.Call() | ast.Attribute() | ast.Subscript() | ast.Tuple() | ast.keyword():
            for part in ast.iter_child_nodes(value):
                yield from _certain_calls(part, self_name)
        case ast.Compare(left=left, comparators=[right, *_]):
            for part in (left, right):
                yield from _certain_calls(part, self_name)
        case ast.BoolOp(values=[first, *_]):
            yield from _certain_calls(first, self_name)


def _named(node: ast.expr) -> ast.Attribute:
    """What gives a value its name: the attribute, or the one that is called or whose item is called."""
    while not isinstance(node, ast.Attribute):
        assert isinstance(node, ast.Call | ast.Subscript)
        node = node.func if isinstance(node, ast.Call) else node.value
    return node


def _is_called(source: Source, node: ast.expr) -> bool:
    """Whether ``node``, or an item of it, is called."""
    outer = source.parent(node)
    if isinstance(outer, ast.Subscript) and outer.value is node:
        return _is_called(source, outer)
    return isinstance(outer, ast.Call) and outer.func is node


def _is_lazy(call: ast.Call) -> bool:
    """Whether ``call`` returns an iterator, which cannot be indexed."""
    return isinstance(call.func, ast.Name) and call.func.id in ("enumerate", "filter", "map", "reversed", "zip")


def changed_in_place(node: ast.AST) -> str | None:
    """The name whose value ``node`` changes in place: ``x[i] = y``, ``x[i].add_(y)``, ``x.append(y)``."""
    match node:
        case ast.Subscript(ctx=ast.Store()):
            return root_name(node)
        case ast.Call(func=ast.Attribute(value=value, attr=method)) if method.endswith("_") or method in _CHANGING:
            return root_name(value)
    return None


def root_name(node: ast.expr) -> str | None:
    """The name at the start of a chain of attributes and items."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
