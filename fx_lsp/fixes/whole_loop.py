"""Make all turns of a loop that may end early, and keep the values from the turn that ends it.

A loop that goes on until a tensor says so has no fixed number of turns, so a capture can't unroll it. If it makes at
most a known number, it can make all of them: ``torch.where`` lets only those that count change what is read below it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from fx_lsp.fixes.editing import Fix, TextChange
from fx_lsp.fixes.editing.conditions import Conditions, draws
from fx_lsp.fixes.editing.data_flow import Flow
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression
from fx_lsp.fixes.editing.expression_values import Values
from fx_lsp.fixes.editing.import_edits import imported

_CHANGES = frozenset({"add", "append", "clear", "extend", "insert", "pop", "remove", "setdefault", "sort", "update"})
"""The methods by which a program changes a list, a dictionary or a set."""


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the failing expression decides whether a loop goes on: in ``while``, or in an ``if`` that breaks."""
    loop = _Loop.ended_by(source, node)
    if loop is None or not loop.kept or not loop.is_simple:
        return
    changes = list(loop.changes())
    if changes:
        yield Fix("Make all turns of the loop, and keep the values from the turn that ends it", tuple(changes))


@dataclass(frozen=True)
class _Loop:
    """A loop, and what may end it early."""

    source: Source
    loop: ast.For | ast.While
    branch: ast.If | None
    """The ``if`` that breaks; None if the loop's own condition fails."""
    failing: ast.expr

    @classmethod
    def ended_by(cls, source: Source, node: ast.expr) -> _Loop | None:
        """The loop that ends if the condition that ``node`` is a part of says so."""
        for outer in source.around(node):
            match outer:
                case ast.While(test=test) if source.contains(test, node):
                    return cls(source, outer, None, node)
                case ast.If(test=test, body=[ast.Break()], orelse=[]) if source.contains(test, node):
                    loop = source.parent(outer)
                    return cls(source, loop, outer, node) if isinstance(loop, ast.For | ast.While) else None
                case ast.stmt():
                    return None
        return None

    @cached_property
    def kept(self) -> list[str]:
        """The names that the loop assigns and that are read below it; empty if one of them may be no tensor."""
        flow, values = Flow(self.source, [self.loop]), Values(self.source)
        stores = [part for part in self._parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
        read = [store for store in stores if flow.is_read_below(store.id)]
        is_known = all(flow.is_bound_before(store.id) and not values.is_number(store) for store in read)
        is_plain = all(isinstance(self.source.parent(store), ast.stmt | ast.Tuple) for store in read)
        return list(dict.fromkeys(store.id for store in read)) if is_known and is_plain else []

    @cached_property
    def _parts(self) -> list[ast.AST]:
        return [part for statement in self.loop.body for part in ast.walk(statement)]

    @property
    def is_simple(self) -> bool:
        """Whether the loop has a known number of turns and only assigns names, but for the branch that ends it."""
        loop, plain = self.loop, ast.Assign | ast.AugAssign | ast.Pass
        if loop.orelse or self.source.indent(loop).strip() or self.source.indent(loop.body[0]).strip():
            return False
        if isinstance(loop, ast.For) and any(map(Flow(self.source, [loop]).is_read_below, _names(loop.target))):
            return False
        if isinstance(loop, ast.While) and not self._bounds:
            return False
        is_plain = all(isinstance(statement, plain) or statement is self.branch for statement in loop.body)
        added = [statement.target for statement in loop.body if isinstance(statement, ast.AugAssign)]
        if any(name not in {*self.kept, *self._counters} for target in added for name in _names(target)):
            return False  # what has another name, too, would be changed more often
        return is_plain and not any(map(_has_other_effects, self._parts)) and not any(map(draws, loop.body))

    @property
    def _tests(self) -> list[ast.expr]:
        """The parts of a ``while``'s condition that must all hold."""
        match self.loop:
            case ast.While(test=ast.BoolOp(op=ast.And(), values=parts)):
                return parts
            case ast.While(test=test):
                return [test]
        return []

    @property
    def _bounds(self) -> list[ast.expr]:
        """Those of the ``_tests`` that compare a counter, which makes the number of turns known."""
        counters = self._counters
        compared = (part for part in self._tests if isinstance(part, ast.Compare))
        return [
            part
            for part in compared
            if counters & {*_names(part)} and not self.source.contains(part, self.failing) and not _calls(part)
        ]

    @cached_property
    def _counters(self) -> set[str]:
        """The names that each turn adds a constant to, and that begin as a number."""
        counters = set()
        function = ast.walk(self.source.function(self.loop) or ast.Pass())
        stores = [part for part in function if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
        for statement in self.loop.body:
            match statement:
                case ast.AugAssign(target=ast.Name(id=name) as target, value=ast.Constant()) if name not in self.kept:
                    others = [store for store in stores if store.id == name and store is not target]
                    if others and all(Values(self.source).is_number(_assigned(self.source, one)) for one in others):
                        counters.add(name)
        return counters

    def changes(self) -> Iterator[TextChange]:
        """The changes to the loop; none if its condition can't be written as a tensor."""
        source, loop = self.source, self.loop
        torch, running = imported(source, "torch"), source.unused("running")
        conditions = Conditions(source, torch.name, of_tensors=True)
        inner = source.indent(loop.body[0])
        yield from torch.changes
        start = f"{running} = {self.kept[0]}.new_ones((), dtype={torch.name}.bool)\n{source.indent(loop)}"
        yield source.before(loop, start)
        by_values: list[ast.expr] = []
        if self.branch is None:
            by_values = [part for part in self._tests if part not in self._bounds]
            texts = [conditions.recorded(part, of_tensors=True) for part in by_values]
            yield source.replaced(loop.test, " and ".join(map(source.slice, self._bounds)))  # type: ignore[union-attr]
            goes_on = " & ".join(f"({text})" for text in texts)
            yield source.before(loop.body[0], f"{running} = {running} & {goes_on}\n{inner}")
        else:
            by_values = [self.branch.test]
            text = conditions.recorded(self.branch.test, of_tensors=True)
            yield source.replaced(self.branch, f"{running} = {running} & {torch.name}.logical_not({text})")
        deciding = {name for part in by_values for name in _names(part)}
        for statement in loop.body:
            yield from self._masked(statement, torch.name, running, deciding)

    def _masked(self, statement: ast.stmt, torch: str, running: str, deciding: set[str]) -> Iterator[TextChange]:
        """The changes to a statement of the loop: it changes what is kept only in turns that count."""
        source, where = self.source, f"{torch}.where({running}, {{}}, {{}})".format
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                new = self._as_tensor(value) if name in deciding else source.slice(value)
                if name in self.kept:
                    new = where(new, name)
                if new != source.slice(value):
                    yield source.replaced(value, new)
            case ast.AugAssign(target=ast.Name(id=name)) if name in self.kept:
                operation = ast.unparse(ast.BinOp(ast.Name(name, ast.Load()), statement.op, ast.Name("_", ast.Load())))
                new = operation.removesuffix("_") + source.operand(statement.value)
                yield source.replaced(statement, f"{name} = {where(new, name)}")
            case ast.Assign(targets=[ast.Tuple() as target]):
                indent = source.indent(statement)
                for store in target.elts:
                    if isinstance(store, ast.Name) and store.id in self.kept:
                        new = source.unused(f"new_{store.id}")
                        yield source.replaced(store, new)
                        yield source.behind(statement, f"\n{indent}{store.id} = {where(new, store.id)}")

    def _as_tensor(self, value: ast.expr) -> str:
        """A number that decides, as a tensor that compares like the number: without a gradient, and as exact."""
        match value:
            case ast.Call(func=ast.Attribute(value=tensor, attr="item"), args=[], keywords=[]):
                return f"{self.source.operand(tensor)}.detach().double()"
        return self.source.slice(value)


def _assigned(source: Source, store: ast.Name) -> ast.expr:
    """What a name is assigned; the name itself if the text does not show it."""
    match source.statement(store):
        case ast.Assign(targets=[ast.Name()], value=value):
            return value
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if store in names:
            return values[names.index(store)] if len(names) == len(values) else store
    return store


def _names(*nodes: ast.AST) -> Iterable[str]:
    return (part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name))


def _calls(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Call) for part in ast.walk(node))


def _has_other_effects(node: ast.AST) -> bool:
    """Whether a part of the loop does more than compute values, so that a turn more makes a difference."""
    match node:
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return True
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in _CHANGES or (name.endswith("_") and not name.endswith("__"))
    return isinstance(node, ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await | ast.Starred)
