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
    """One fix if the failing expression decides whether a loop goes on: in ``while``, or in an ``if`` that breaks.

    An ``if`` that returns breaks, too, if the same is returned below the loop.
    """
    loop = _Loop.ended_by(source, node)
    if loop is not None and loop.kept and loop.like and loop.goes_on and loop.is_simple:
        yield Fix("Make all turns of the loop, and keep the values from the turn that ends it", tuple(loop.changes()))


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
                case ast.If(test=test, body=[end], orelse=[]) if source.contains(test, node):
                    loop = source.parent(outer)
                    is_end = isinstance(loop, ast.For | ast.While) and _is_end(source, loop, end)
                    return cls(source, loop, outer, node) if is_end else None  # type: ignore[arg-type]
                case ast.stmt():
                    return None
        return None

    @cached_property
    def kept(self) -> list[str]:
        """The names that the loop assigns and that are read below it; empty if one of them may be no tensor."""
        flow, values = Flow(self.source, [self.loop]), Values(self.source)
        stores = [part for part in self._parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
        read = [store for store in stores if flow.is_read_below(store.id)]
        is_known = not any(map(values.is_number, read))
        is_plain = all(isinstance(self.source.parent(store), ast.stmt | ast.Tuple) for store in read)
        return list(dict.fromkeys(store.id for store in read)) if is_known and is_plain else []

    @cached_property
    def _new(self) -> list[str]:
        """Those of the names that have no value before the loop."""
        flow = Flow(self.source, [self.loop])
        return [name for name in self.kept if not flow.is_bound_before(name)]

    @cached_property
    def like(self) -> str:
        """A name that has a value before the loop, which may be a tensor; empty if there is none."""
        flow, values = Flow(self.source, [self.loop]), Values(self.source)
        read = [part for part in self._parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)]
        operands = [part for part in read if isinstance(self.source.parent(part), ast.Call | ast.BinOp | ast.Compare)]
        given = [part for part in operands if getattr(self.source.parent(part), "func", None) is not part]
        found = (part.id for part in given if flow.is_bound_before(part.id) and not values.is_number(part))
        return next((name for name in self.kept if name not in self._new), next(found, ""))

    @cached_property
    def goes_on(self) -> str:
        """What says whether the loop goes on, as a tensor; empty if it can't be written as one."""
        conditions = Conditions(self.source, imported(self.source, "torch").name, of_tensors=True)
        recorded = [conditions.recorded(part, of_tensors=True) for part in self._deciding]
        texts = [_of_tensors(text) for text in recorded if text]
        if len(texts) < len(self._deciding):
            return ""
        if self.branch is not None:
            return f"{imported(self.source, 'torch').name}.logical_not({texts[0]})"
        return " & ".join(f"({text})" for text in texts)

    @property
    def _deciding(self) -> list[ast.expr]:
        """The conditions that decide whether the loop goes on."""
        return [self.branch.test] if self.branch else [part for part in self._tests if part not in self._bounds]

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
        if any(isinstance(statement, ast.Assign) and len(statement.targets) > 1 for statement in loop.body):
            return False
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
        """Those of the ``_tests`` that say how far a counter goes, which makes the number of turns known."""
        return [part for part in self._tests if isinstance(part, ast.Compare) and self._is_bound(part)]

    def _is_bound(self, test: ast.Compare) -> bool:
        """Whether ``test`` fails once a counter has come to what no turn changes."""
        match test:
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Lt() | ast.LtE()], comparators=[end]):
                goes_up = True
            case ast.Compare(left=end, ops=[ast.Gt() | ast.GtE()], comparators=[ast.Name(id=name)]):
                goes_up = True
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Gt() | ast.GtE()], comparators=[end]):
                goes_up = False
            case ast.Compare(left=end, ops=[ast.Lt() | ast.LtE()], comparators=[ast.Name(id=name)]):
                goes_up = False
            case _:
                return False
        is_fixed = self._stored.isdisjoint(_names(end)) and not _calls(end)
        return self._counters.get(name) is goes_up and is_fixed and not self.source.contains(test, self.failing)

    @property
    def _stored(self) -> set[str]:
        """The names that the loop assigns."""
        return {part.id for part in self._parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}

    @cached_property
    def _counters(self) -> dict[str, bool]:
        """The names that begin as a number, and that each turn adds a constant to (true) or subtracts it from."""
        counters = {}
        function = ast.walk(self.source.function(self.loop) or ast.Pass())
        stores = [part for part in function if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
        for statement in self.loop.body:
            match statement:
                case ast.AugAssign(
                    target=ast.Name(id=name) as target,
                    op=ast.Add() | ast.Sub() as operation,
                    value=ast.Constant(value=int() | float() as step),
                ) if name not in self.kept and step > 0:
                    others = [store for store in stores if store.id == name and store is not target]
                    if others and all(Values(self.source).is_number(_assigned(self.source, one)) for one in others):
                        counters[name] = isinstance(operation, ast.Add)
        return counters

    def changes(self) -> Iterator[TextChange]:
        """The changes to the loop."""
        source, loop = self.source, self.loop
        torch, running = imported(source, "torch"), source.unused("running")
        yield from torch.changes
        start = [
            f"{running} = {self.like}.new_ones((), dtype={torch.name}.bool)",
            *(f"{name} = None" for name in self._new),
        ]
        yield source.before(loop, "".join(f"{line}\n{source.indent(loop)}" for line in start))
        decide = f"{running} = {running} & {self.goes_on}"
        if self.branch is not None:
            yield source.replaced(self.branch, decide)
        elif isinstance(loop, ast.While):
            yield source.replaced(loop.test, " and ".join(map(source.slice, self._bounds)))
            yield source.before(loop.body[0], f"{decide}\n{source.indent(loop.body[0])}")
        deciding = {name for part in self._deciding for name in _names(part)}
        for statement in loop.body:
            yield from self._masked(statement, torch.name, running, deciding)

    def _masked(self, statement: ast.stmt, torch: str, running: str, deciding: set[str]) -> Iterator[TextChange]:
        """The changes to a statement of the loop: it changes what is kept only in turns that count."""
        source, where = self.source, f"{torch}.where({running}, {{}}, {{}})".format
        match statement:
            case ast.AugAssign(target=ast.Name(id=name)) if name in self.kept:
                operation = ast.unparse(ast.BinOp(ast.Name(name, ast.Load()), statement.op, ast.Name("_", ast.Load())))
                new = operation.removesuffix("_") + source.operand(statement.value)
                yield source.replaced(statement, f"{name} = {where(new, name)}")
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in self._new:
                new = _of_tensors(source.slice(value)) if name in deciding else source.slice(value)
                new = where(new, name) if name in self.kept else new
                if new != source.slice(value):
                    yield source.replaced(value, new)
            case ast.Assign(targets=[target]):
                stores = [part for part in ast.walk(target) if isinstance(part, ast.Name) and part.id in self.kept]
                lines = []
                for store in stores:
                    name, new = store.id, source.unused(f"new_{store.id}")
                    yield source.replaced(store, new)
                    first = f"{new} if {name} is None else " if name in self._new else ""
                    lines.append(f"{name} = {first}{where(new, name)}")
                if lines:
                    yield source.behind(statement, "".join(f"\n{source.indent(statement)}{line}" for line in lines))


class _Tensors(ast.NodeTransformer):
    """Leaves numbers in the tensors that they are read from, which compare like them: no gradient, and as exact."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(value=tensor, attr="item"), args=[], keywords=[]):
                return ast.Call(ast.Attribute(ast.Call(ast.Attribute(tensor, "detach"), [], []), "double"), [], [])
        return node


def _of_tensors(text: str) -> str:
    """An expression without the numbers that it reads from tensors."""
    return ast.unparse(_Tensors().visit(ast.parse(f"({text})", mode="eval"))) if ".item()" in text else text


def _is_end(source: Source, loop: ast.For | ast.While, end: ast.stmt) -> bool:
    """Whether ``end`` leaves the loop and does nothing that is not done below it, too."""
    block = source.block(loop)
    following = block[block.index(loop) + 1 :][:1]
    is_below = isinstance(end, ast.Return) and [ast.dump(end)] == [*map(ast.dump, following)]
    return isinstance(end, ast.Break) or is_below


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
