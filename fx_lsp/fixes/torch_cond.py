"""Replace a branch that depends on the values in a tensor with ``torch.cond``, which keeps both sides in the graph.

Each side becomes a function that returns what the branch assigns or returns. Only one of them runs, so unlike with
``torch.where``, the other side may be one that must not be computed. What the sides return must have the same order of
strides, whatever strides the inputs have: the second fix makes it contiguous.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from fx_lsp.agent.messages import Failure
from fx_lsp.documents.name_resolution import free_names
from fx_lsp.documents.scopes import Function, bound_names
from fx_lsp.fixes.editing import Fix, ReadText, TextChange
from fx_lsp.fixes.editing.branch_sides import stored_alike
from fx_lsp.fixes.editing.conditions import Conditions
from fx_lsp.fixes.editing.data_flow import Flow, leaves
from fx_lsp.fixes.editing.edited_source import Source, editable, tuple_text
from fx_lsp.fixes.editing.expression_values import Values
from fx_lsp.fixes.editing.import_edits import imported
from fx_lsp.fixes.tensor_conditions import with_tensors

_NOT_TO_MOVE = (
    *(ast.Await, ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal, ast.Delete, ast.Break, ast.Continue, ast.Raise),
    *(ast.NamedExpr, ast.Import, ast.ImportFrom, ast.ClassDef, *Function),
)


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """Two fixes if the failing expression is (a part of) the condition of a branch whose sides only compute values.

    A number that was read from a tensor becomes the tensor again.
    """
    for source, node in editable(failure.chain[-1:], read):
        yield from with_tensors(source, node, failure, _fixes)


def _fixes(source: Source, node: ast.expr, is_tensor: bool | None) -> Iterator[Fix]:
    torch = imported(source, "torch")
    for title, results in (("", _Fresh(source)), (", with contiguous results", _Contiguous(source))):
        change = _change(source, node, torch.name, results)
        if change is not None:
            yield Fix(f"Keep both branches with {torch.name}.cond{title}", (*torch.changes, change))


def _change(source: Source, node: ast.expr, torch: str, results: _Fresh) -> TextChange | None:
    for outer in source.around(node):
        match outer:
            case ast.IfExp(test=test, body=one, orelse=other) if source.contains(test, node):
                condition = _condition(source, test, torch)
                sides = ", ".join(f"lambda: {results.of(side)}" for side in (one, other))
                return source.replaced(outer, f"{torch}.cond({condition}, {sides}, ())") if condition else None
            case ast.If(test=test) if source.contains(test, node):
                condition = _condition(source, test, torch)
                return _Branch(source, outer, torch, condition, results).change() if condition else None
            case ast.stmt():
                return None
    return None


def _condition(source: Source, test: ast.expr, torch: str) -> str | None:
    """``test`` as a value that can be recorded."""
    return Conditions(source, torch).recorded(test, of_tensors=Values(source).reads_elements(test))


@dataclass(frozen=True)
class _Fresh:
    """What a side returns: no side may return a tensor that it was given."""

    source: Source

    def of(self, value: ast.expr, own: Set[str] = frozenset()) -> str:
        """``value`` as what a side may return that has computed the variables ``own``."""
        if isinstance(value, ast.Tuple):
            return tuple_text([self.of(item, own) for item in value.elts])
        is_own = isinstance(value, ast.Name) and value.id in own
        is_given = isinstance(value, ast.Name | ast.Attribute | ast.Subscript) and not is_own
        return (self.copied if is_given else self.computed)(value)

    def must_change(self, value: ast.expr, own: Set[str]) -> bool:
        """Whether a side with several statements must return something other than ``value``."""
        items = value.elts if isinstance(value, ast.Tuple) else [value]
        return any(isinstance(item, ast.Name) and item.id not in own for item in items)

    def copied(self, value: ast.expr | str) -> str:
        """A tensor that a side was given."""
        return f"{self._text(value)}.clone()"

    def computed(self, value: ast.expr | str) -> str:
        """A tensor that a side has computed."""
        return self._text(value)

    def _text(self, value: ast.expr | str) -> str:
        return value if isinstance(value, str) else self.source.slice(value)


class _Contiguous(_Fresh):
    """What a side returns, made contiguous."""

    def must_change(self, value: ast.expr, own: Set[str]) -> bool:
        """True: every result gets a call of ``contiguous``."""
        return True

    def copied(self, value: ast.expr | str) -> str:
        """A tensor that a side was given."""
        return f"{self._text(value)}.clone().contiguous()"

    def computed(self, value: ast.expr | str) -> str:
        """A tensor that a side has computed."""
        if isinstance(value, ast.Starred | ast.Constant):
            return self._text(value)
        is_plain = isinstance(value, str | ast.Name | ast.Attribute | ast.Subscript | ast.Call)
        return f"{self._text(value)}.contiguous()" if is_plain else f"({self._text(value)}).contiguous()"


@dataclass(frozen=True)
class _Branch:
    """An ``if`` statement that is to become a call."""

    source: Source
    statement: ast.If
    torch: str
    condition: str
    results: _Fresh

    def change(self) -> TextChange | None:
        """The change; None if a side does more than compute values, or if the text does not show what it yields."""
        source, statement = self.source, self.statement
        is_chain = any(isinstance(item, ast.If) and source.is_elif(item) for item in statement.orelse)
        if is_chain or source.is_elif(statement) or source.indent(statement).strip():
            return None
        if stored := stored_alike(source, statement):
            before, one, other, behind = stored
            comments = [*source.comments(statement, to=statement)]
            text = f"{before}{self._choice(one, other)}{behind}"
            return source.replaced(statement, f"\n{source.indent(statement)}".join([*comments, text]))
        block = source.block(statement)
        following = block[block.index(statement) + 1 :]
        sides = [statement.body, statement.orelse]
        if _returns(statement):
            sides = [statement.body, statement.orelse or following]
            if not all(leaves(side, (ast.Return,)) for side in sides):
                return None
        if not all(map(self._can_move, sides)):
            return None
        last = [statement, *sides[1]][-1] if _returns(statement) else statement
        lines = self._returning(sides, last) if _returns(statement) else self._assigning(sides)
        indent = source.indent(statement)
        text = textwrap.indent("\n".join(lines), indent).removeprefix(indent)
        return source.replaced(statement, text, to=last) if lines else None

    def _returning(self, sides: Sequence[list[ast.stmt]], last: ast.stmt) -> list[str]:
        match sides:
            case [[ast.Return(value=ast.expr() as one)], [ast.Return(value=ast.expr() as other)]]:
                return [*self.source.comments(self.statement, to=last), f"return {self._choice(one, other)}"]
        inputs = self._inputs(sides, ())
        texts = zip(_NAMES, self._texts(sides), strict=True)
        functions = [line for name, text in texts for line in self._function(name, inputs, text)]
        return [*functions, f"return {self._call(inputs)}"]

    def _choice(self, *values: ast.expr) -> str:
        """The call that chooses one of two values."""
        functions = ", ".join(f"lambda: {self.results.of(value)}" for value in values)
        return f"{self.torch}.cond({self.condition}, {functions}, ())"

    def _assigning(self, sides: Sequence[list[ast.stmt]]) -> list[str]:
        flow = Flow(self.source, [self.statement])
        outputs = [name for name in sorted(_stored(sides)) if flow.is_read_below(name)]
        each = [Flow(self.source, side) if side else None for side in sides]
        binding = [{name for name in outputs if side and side.is_bound_by(name)} for side in each]
        may_keep = {name for name in outputs if flow.is_bound_before(name)}
        assigned_sometimes = any(
            _stored([side]) & (set(outputs) - bound) for side, bound in zip(sides, binding, strict=True)
        )
        if not outputs or assigned_sometimes or not all(set(outputs) <= bound | may_keep for bound in binding):
            return []
        inputs = self._inputs(sides, [name for name in outputs if not all(name in bound for bound in binding)])
        functions: list[str] = []
        for name, text, bound in zip(_NAMES, self._texts(sides), binding, strict=True):
            results = self.results
            values = [results.computed(output) if output in bound else results.copied(output) for output in outputs]
            functions += self._function(name, inputs, [*text, f"return {', '.join(values)}"])
        return [*functions, f"{', '.join(outputs)} = {self._call(inputs)}"]

    def _function(self, name: str, inputs: Sequence[str], body: Sequence[str]) -> list[str]:
        head = f"def {self._name(name)}({', '.join(inputs)}):"
        return [head, *(f"    {line}" if line.strip() else "" for line in body), ""]

    def _texts(self, sides: Sequence[list[ast.stmt]]) -> Iterator[list[str]]:
        """The lines of each side, without their common indentation, and with the comments above them."""
        source, end = self.source, self.source.offsets(self.statement)[0]
        for number, side in enumerate(sides):
            if not side:
                yield []
                continue
            start, above = source.offsets(side[0])[0], end
            end = source.offsets(side[-1])[1]
            if any(sides[number + 1 :]):  # a comment behind the last side stays where it is
                end = source.text.index("\n", end)
            indent = source.indent(side[0])
            lines = self._with_fresh_result(side, start, end).splitlines()
            own = [line.removeprefix(indent) if not indent.strip() else line for line in lines]
            yield [*source.comments_between(above, start), *own]

    def _with_fresh_result(self, side: list[ast.stmt], start: int, end: int) -> str:
        """The text of a side; what it returns is no tensor that it was given."""
        text, last = self.source.text[start:end], side[-1]
        match last:
            case ast.Return(value=ast.expr() as value):
                own = _stored([side])
                if self.results.must_change(value, own):
                    first, behind = self.source.offsets(value)
                    return text[: first - start] + self.results.of(value, own) + text[behind - start :]
        return text

    def _call(self, inputs: Sequence[str]) -> str:
        functions = ", ".join(map(self._name, _NAMES))
        return f"{self.torch}.cond({self.condition}, {functions}, {tuple_text(inputs)})"

    def _name(self, name: str) -> str:
        return self.source.unused(name)

    def _inputs(self, sides: Sequence[list[ast.stmt]], kept: Sequence[str]) -> list[str]:
        """The names that a side both reads and assigns, or that are ``kept``: in a function, these are its own."""
        flow = Flow(self.source, [self.statement])
        read = {name for side in sides for statement in side for name in free_names(statement)} | set(kept)
        return [name for name in sorted(_stored(sides)) if name in read and flow.is_bound_before(name)]

    def _can_move(self, side: list[ast.stmt]) -> bool:
        """Whether the statements can stand in a function of their own and store nothing elsewhere."""
        own = _stored([side])
        for node in (inner for statement in side for inner in ast.walk(statement)):
            match node:
                case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()) if name in own:
                    continue
                case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                    return False
                case ast.Constant(value=str()) if node.lineno != node.end_lineno:
                    return False
            if isinstance(node, _NOT_TO_MOVE):
                return False
        return not side or len(side) == 1 or not self.source.indent(side[0]).strip()


_NAMES = ("if_true", "if_false")


def _returns(statement: ast.If) -> bool:
    return any(isinstance(node, ast.Return) for node in ast.walk(statement))


def _stored(sides: Sequence[list[ast.stmt]]) -> set[str]:
    """The names that the statements assign."""
    nodes = [node for side in sides for statement in side for node in ast.walk(statement)]
    hidden = {name for node in nodes if isinstance(node, ast.comprehension) for name in bound_names(node)}
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)} - hidden
