"""Replace a choice between two values with one recorded operation, if both values can be computed.

``torch.where`` chooses by a tensor, ``torch.sym_ite`` by a value computed from sizes, dtypes and flags. Both require
two values of the same type.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes.editing import Fix, ReadText, TextChange
from fx_lsp.fixes.editing.branch_sides import stored_alike
from fx_lsp.fixes.editing.conditions import Conditions
from fx_lsp.fixes.editing.edited_source import Source, editable
from fx_lsp.fixes.editing.expression_values import Values
from fx_lsp.fixes.editing.import_edits import imported
from fx_lsp.fixes.tensor_conditions import with_tensors


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix if the failing expression decides between two values, two assignments or two returns.

    A number that was read from a tensor becomes the tensor again.
    """
    for source, node in editable(failure.chain[-1:], read):
        yield from with_tensors(source, node, failure, _fixes)


def _fixes(source: Source, node: ast.expr, is_tensor: bool | None) -> Iterator[Fix]:
    torch = imported(source, "torch")
    chooser = _Chooser(source, torch.name, is_tensor)
    change = _change(source, chooser, node)
    if change is not None:
        yield Fix(f"Choose with {chooser.function(node)}", (*torch.changes, change))


def _change(source: Source, chooser: _Chooser, node: ast.expr) -> TextChange | None:
    for outer in source.around(node):
        match outer:
            case ast.IfExp(test=test, body=body, orelse=orelse) if source.contains(test, node):
                text = chooser.choice(test, body, orelse)
                return source.replaced(outer, text) if text else None
            case ast.If(test=test) if source.contains(test, node):
                first = _first(source, outer)
                return _changed_statement(source, chooser, first) if first else None
            case ast.stmt():
                return None
    return None


def _first(source: Source, statement: ast.If) -> ast.If | None:
    """``statement`` or, if it is an ``elif``, the ``if`` that it belongs to; None unless that decides by tensors."""
    while source.is_elif(statement):
        outer = source.parent(statement)
        assert isinstance(outer, ast.If)
        if not Values(source).reads_elements(outer.test):
            return None
        statement = outer
    return statement


def _changed_statement(source: Source, chooser: _Chooser, statement: ast.If) -> TextChange | None:
    """The change from two assignments or returns to one; None if ``statement`` does more than choose a value."""
    if source.indent(statement).strip():
        return None
    block = source.block(statement)
    following = block[block.index(statement) + 1 :]
    last: ast.stmt = statement
    text: str | None = None
    match statement.body, statement.orelse or following[:1]:
        case [ast.Return(value=ast.expr() as one)], [ast.Return(value=ast.expr() as other) as end]:
            choice = chooser.choice(statement.test, one, other)
            text, last = choice and f"return {choice}", end
        case _ if stored := stored_alike(source, statement):
            before, one, other, behind = stored
            choice = chooser.choice(statement.test, one, other)
            text = choice and f"{before}{choice}{behind}"
        case _:
            name = _target(statement.body)
            choice = name and chooser.assigned(statement, name)
            text = choice and f"{name} = {choice}"
    if not text:
        return None
    lines = [*source.comments(statement, to=last), text]
    return source.replaced(statement, f"\n{source.indent(statement)}".join(lines), to=last)


def _target(block: list[ast.stmt]) -> str | None:
    """The name that ``block`` assigns, if it is a single assignment."""
    match block:
        case [ast.Assign(targets=[ast.Name(id=name)])]:
            return name
    return None


@dataclass(frozen=True)
class _Chooser:
    """Writes a choice between two values as a call."""

    source: Source
    torch: str
    is_tensor: bool | None = None
    """Whether conditions are tensors; None if only their texts can show it."""

    def function(self, test: ast.expr) -> str:
        """The torch function that chooses depending on ``test``."""
        is_tensor = Values(self.source).reads_elements(test) if self.is_tensor is None else self.is_tensor
        return f"{self.torch}.where" if is_tensor else f"{self.torch}.sym_ite"

    def choice(self, test: ast.expr, one: ast.expr, other: ast.expr | str) -> str | None:
        """``one if test else other`` as a call; None if computing both values is not safe."""
        function = self.function(test)
        values = Values(self.source)
        by_tensor = function.endswith("where")
        condition = Conditions(self.source, self.torch).recorded(test, of_tensors=by_tensor)
        if condition is None or not _can_both_be(values, test, one, other, by_tensor=by_tensor):
            return None
        last = other if isinstance(other, str) else self._text(other)
        return f"{function}({condition}, {self._text(one)}, {last})"

    def assigned(self, statement: ast.If, name: str) -> str | None:
        """The value of ``name`` after ``statement``, as a call, if each branch is a single assignment of ``name``."""
        match statement:
            case ast.If(test=test, body=[ast.Assign(value=value)], orelse=orelse) if _target(statement.body) == name:
                match orelse:
                    case []:
                        return self.choice(test, value, ast.Name(name, ast.Load()))
                    case [ast.If() as inner]:
                        other = self.assigned(inner, name)
                        return other and self.choice(test, value, other)
                    case [ast.Assign(value=other_value)] if _target(orelse) == name:
                        return self.choice(test, value, other_value)
        return None

    def _text(self, node: ast.expr) -> str:
        return self.source.slice(node) if hasattr(node, "lineno") else ast.unparse(node)


def _can_both_be(values: Values, test: ast.expr, one: ast.expr, other: ast.expr | str, *, by_tensor: bool) -> bool:
    """Whether both values can be computed regardless of ``test``, and may have the same type."""
    nodes = [one] if isinstance(other, str) else [one, other]
    if any(not _is_harmless(node, test) for node in nodes):
        return False
    numbers = [values.is_number(node) for node in nodes]
    if by_tensor:
        return not all(numbers)
    constants = [node for node in nodes if isinstance(node, ast.Constant)]
    if len({type(node.value) for node in constants}) > 1:
        return False
    return all(numbers) or not any(numbers) or isinstance(nodes[numbers.index(False)], ast.Attribute)


def _is_harmless(node: ast.expr, test: ast.expr) -> bool:
    """Whether ``node`` is one value that can be computed whatever ``test`` is.

    It must change nothing, contain no ``None``, and not divide by a value that ``test`` tests.
    """
    tested = {inner.id for inner in ast.walk(test) if isinstance(inner, ast.Name)}
    for inner in ast.walk(node):
        match inner:
            case ast.Tuple() | ast.List() if inner is node:
                return False
            case ast.Constant(value=None) | ast.NamedExpr() | ast.Await() | ast.Yield() | ast.YieldFrom():
                return False
            case ast.Call(func=ast.Attribute(attr=name)) if name.endswith("_"):
                return False
            case ast.BinOp(op=ast.Div() | ast.FloorDiv() | ast.Mod(), right=divisor):
                if any(isinstance(part, ast.Name) and part.id in tested for part in ast.walk(divisor)):
                    return False
    return True
