"""Splits a condition into parts that must all hold and that tracing can record one by one.

While tracing, Python evaluates ``and``, ``or``, ``not``, ``in`` and chained comparisons immediately; a single
comparison, ``|`` and ``torch.sym_not`` are recorded.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeGuard

from fx_lsp.fixes.editing.edited_source import Source, tuple_text
from fx_lsp.fixes.editing.expression_values import Values

_OPERATORS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
"""Each operator, and its negation."""

_REPEATABLE = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant)
"""Expressions that can be evaluated twice."""

_DRAWING = ("alpha_dropout", "bernoulli", "dropout", "multinomial", "rand", "uniform")
"""The beginnings of the names of functions that draw random numbers."""

_LOOSE = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr)
"""Expressions that need parentheses as operands of ``and``."""


class Conditions:
    """Writes the conditions of one file as source text; returns an empty list for any that cannot be recorded."""

    def __init__(self, source: Source, torch: str, *, of_tensors: bool = False) -> None:
        """``of_tensors``: the conditions are tensors of booleans, so ``torch.logical_not`` replaces ``not``."""
        self._source = source
        self._torch = torch
        self._not = f"{torch}.{'logical_not' if of_tensors else 'sym_not'}"

    def required(self, test: ast.expr) -> list[str]:
        """The conditions that must hold for ``test`` to be true."""
        match test:
            case ast.BoolOp(op=ast.And(), values=values):
                return _together([self.required(value) for value in values])
            case ast.BoolOp():
                return _either([self.required(value) for value in test.values])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.excluded(operand)
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as operator], comparators=[right]):
                return self._one_of(left, right) if isinstance(operator, ast.In) else self._none_of(left, right)
            case ast.Compare(ops=[_, _, *_]):
                return self._links(test)
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if self._sizes(left, right):
                return [self._compared(left, _OPERATORS[type(operator)][0], right)]
            case ast.Call(func=ast.Name(id="any" | "all" as name), args=[ast.GeneratorExp() | ast.ListComp() as each]):
                return self._of_each(each, required=True) if name == "all" else []
        return [self._source.slice(test)]

    def excluded(self, test: ast.expr) -> list[str]:
        """The conditions that must hold for ``test`` to be false."""
        match test:
            case ast.BoolOp(op=ast.Or(), values=values):
                return _together([self.excluded(value) for value in values])
            case ast.BoolOp():
                return _either([self.excluded(value) for value in test.values])
            case ast.Compare(ops=[_, _, *_]):
                return []
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.required(operand)
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as operator], comparators=[right]):
                return self._none_of(left, right) if isinstance(operator, ast.In) else self._one_of(left, right)
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                return [self._compared(left, _OPERATORS[type(operator)][1], right)]
            case ast.Call(func=ast.Name(id="any" | "all" as name), args=[ast.GeneratorExp() | ast.ListComp() as each]):
                return self._of_each(each, required=False) if name == "any" else []
        return [f"{self._not}({self._source.slice(test)})"]

    def recorded(self, test: ast.expr, *, of_tensors: bool) -> str | None:
        """``test`` as one expression that tracing can record; None if there is none.

        With ``of_tensors``, the value is a tensor of booleans, so ``torch.logical_not`` replaces ``not``.
        """
        match test:
            case ast.BoolOp(op=operator, values=values):
                if any(_guards(value, values[index + 1 :]) for index, value in enumerate(values)):
                    return None
                if any(map(draws, values[1:])):  # Python may not get there, and the numbers after it would be others
                    return None
                parts = [self.recorded(value, of_tensors=of_tensors) for value in values]
                symbol = " & " if isinstance(operator, ast.And) else " | "
                return symbol.join(f"({part})" for part in parts) if all(parts) else None
            case ast.UnaryOp(op=ast.Not(), operand=operand) if Values(self._source).is_flag(operand):
                return f"not {self._source.slice(operand)}"
            case ast.UnaryOp(op=ast.Not(), operand=operand) if of_tensors:
                return f"{self._torch}.logical_not({self._source.slice(operand)})"
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                required = self.required(test)
                return required[0] if len(required) == 1 else " & ".join(f"({part})" for part in required) or None
        is_number = Values(self._source).is_number(test)
        return f"{self._side(test)} != 0" if is_number else self._source.slice(test)

    def conjunction(self, tests: list[ast.expr]) -> str:
        """``tests`` with ``and`` between them."""
        texts = [self._source.slice(test) for test in tests]
        parts = [f"({text})" if isinstance(test, _LOOSE) else text for test, text in zip(tests, texts, strict=True)]
        text = " and ".join(parts)
        return f"({text})" if "\n" in text else text

    def _links(self, chain: ast.Compare) -> list[str]:
        """The comparisons that a chain consists of: ``a < b`` and ``b < c`` for ``a < b < c``."""
        sides = [chain.left, *chain.comparators]
        known = all(type(operator) in _OPERATORS for operator in chain.ops)
        if not known or not all(isinstance(side, _REPEATABLE) for side in sides[1:-1]):
            return []
        return [
            self._compared(one, _OPERATORS[type(operator)][0], other)
            for one, operator, other in zip(sides, chain.ops, sides[1:], strict=False)
        ]

    def _of_each(self, each: ast.GeneratorExp | ast.ListComp, *, required: bool) -> list[str]:
        """The conditions for every item that ``each`` iterates over.

        Empty unless the source lists the items: in a tuple or a list, or as a known part of a shape.
        """
        match each.generators:
            case [ast.comprehension(target=ast.Name(id=name), iter=iterated, ifs=[])]:
                items = self._items(iterated)
                texts = [self._filled(each.elt, name, item) for item in items]
                sources = [Source(self._source.path, f"({text})") for text in texts]
                parts = [_whole(Conditions(source, self._torch), source, required) for source in sources]
                return _together(parts)
        return []

    def _items(self, iterated: ast.expr) -> list[str]:
        if isinstance(iterated, (ast.Tuple, ast.List)) and not any(isinstance(e, ast.Starred) for e in iterated.elts):
            return [self._source.operand(element) for element in iterated.elts]
        return Values(self._source).items(iterated) or []

    def _filled(self, node: ast.expr, name: str, item: str) -> str:
        """The text of ``node`` with ``item`` in place of ``name``."""
        begin = self._source.offsets(node)[0]
        text = self._source.slice(node)
        spots = [self._source.offsets(inner) for inner in ast.walk(node) if is_name(inner, name)]
        for start, end in sorted(spots, reverse=True):
            text = text[: start - begin] + item + text[end - begin :]
        return text

    def _one_of(self, left: ast.expr, right: ast.expr) -> list[str]:
        choices = self._choices(left, "==", right)
        return [" | ".join(f"({choice})" for choice in choices)] if len(choices) > 1 else choices

    def _none_of(self, left: ast.expr, right: ast.expr) -> list[str]:
        return self._choices(left, "!=", right)

    def _choices(self, left: ast.expr, operator: str, right: ast.expr) -> list[str]:
        """Comparisons of ``left`` with each item of ``right``: ``left == a`` and ``left == b`` for ``(a, b)``."""
        right = Values(self._source).only_value(right) or right
        if not isinstance(right, (ast.Tuple, ast.List, ast.Set)) or not isinstance(left, (*_REPEATABLE, ast.Call)):
            return []
        if any(isinstance(element, ast.Starred) for element in right.elts):
            return []
        return [self._compared(left, operator, element) for element in right.elts]

    def _compared(self, left: ast.expr, operator: str, right: ast.expr) -> str:
        one, other = self._sizes(left, right) or (self._side(left), self._side(right))
        return f"{one} {operator} {other}"

    def _sizes(self, left: ast.expr, right: ast.expr) -> tuple[str, str] | None:
        """Both sides as tuples, if both are lists of sizes, or both are tuples, and one of them is made of a shape."""
        for name, display in (("list", ast.List), ("tuple", ast.Tuple)):
            sides = [self._as_tuple(side, name, display) for side in (left, right)]
            if all(sides) and any(isinstance(side, ast.Call) for side in (left, right)):
                return str(sides[0]), str(sides[1])
        return None

    def _as_tuple(self, node: ast.expr, name: str, display: type[ast.List | ast.Tuple]) -> str | None:
        """The shape in ``list(x.shape)``, or what ``node`` lists, as a tuple; ``name`` and ``display`` are its type."""
        match node:
            case ast.Call(func=ast.Name(id=called), args=[shape], keywords=[]) if called == name:
                return self._source.slice(shape) if Values(self._source).is_shape(shape) else None
            case ast.List(elts=items) | ast.Tuple(elts=items) if isinstance(node, display):
                is_starred = any(isinstance(item, ast.Starred) for item in items)
                return None if is_starred else tuple_text([self._source.slice(item) for item in items])
        is_tuple = name == "tuple" and Values(self._source).is_shape(node)
        return self._source.operand(node) if is_tuple else None

    def _side(self, node: ast.expr) -> str:
        text = self._source.slice(node)
        match node:
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return f"({text})"
        return f"({text})" if isinstance(node, _LOOSE) else text


def _whole(conditions: Conditions, source: Source, required: bool) -> list[str]:
    match source.tree.body:
        case [ast.Expr(value=test)]:
            return conditions.required(test) if required else conditions.excluded(test)
    return []


def is_name(node: ast.AST, name: str) -> TypeGuard[ast.Name]:
    """Whether ``node`` reads or stores ``name``."""
    return isinstance(node, ast.Name) and node.id == name


def _either(parts: list[list[str]]) -> list[str]:
    """One condition that holds if any of ``parts`` holds.

    Empty if a part is not exactly one condition, or guards the other parts as ``x is None`` does.
    """
    if not all(len(part) == 1 for part in parts) or any(" is " in part[0] or "isinstance" in part[0] for part in parts):
        return []
    return [" | ".join(f"({part[0]})" for part in parts)]


def draws(node: ast.AST) -> bool:
    """Whether ``node`` calls a function that draws random numbers."""
    called = (part.func for part in ast.walk(node) if isinstance(part, ast.Call))
    names = [function.attr for function in called if isinstance(function, ast.Attribute)]
    return any(name.startswith(_DRAWING) or name in ("normal", "normal_") for name in names)


def _guards(test: ast.expr, others: Sequence[ast.expr]) -> bool:
    """Whether ``others`` read a value of which ``test`` says what it is, e.g. not None, and so may rely on that."""
    guarded: set[str] = set()
    for node in ast.walk(test):
        match node:
            case ast.Compare(left=value, ops=[ast.Is() | ast.IsNot()]):
                guarded.add(ast.unparse(value))
            case ast.Call(func=ast.Name(id="isinstance" | "hasattr"), args=[value, *_]):
                guarded.add(ast.unparse(value))
    read = (node for other in others for node in ast.walk(other) if isinstance(node, ast.expr))
    return bool(guarded) and any(ast.unparse(node) in guarded for node in read)


def _together(parts: list[list[str]]) -> list[str]:
    return [text for part in parts for text in part] if all(parts) else []
