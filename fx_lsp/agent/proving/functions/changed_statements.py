"""Finds the statements of a function that an edit changes, from the innermost block that contains them all outwards."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fx_lsp.agent.proving.functions.edited_function import functions_of
from fx_lsp.agent.proving.functions.function_beginning import READ_ALL
from fx_lsp.agent.proving.functions.names_read import attributes_of_owner

_BODIES = ("body", "orelse", "finalbody")
"""The fields of a statement that hold lists of statements."""


@dataclass(frozen=True)
class ChangedStatements:
    """Consecutive statements of one block of a function, before and after an edit; at least one on each side."""

    block: tuple[tuple[int, str], ...]
    """The way from the function's body to the block: the number of a statement, and which of its bodies comes next."""
    start: int
    """The number of the first of the statements in the block."""
    stops: tuple[int, int]
    """The number behind the last one, before and after the edit."""
    read: frozenset[str]
    """The names that the statements read, before or after the edit."""
    assigned: frozenset[str]
    """The names that they assign."""
    kept: frozenset[str]
    """The names that the rest of the function mentions."""
    write_in_place: bool
    """Whether they may write to what a variable holds."""
    compare_identity: bool
    """Whether they may ask whether two objects are the same one."""
    of_owner: frozenset[str] | None
    """The attributes of the method's object that they may read, also in other methods; None if they may read all."""

    def of(self, function: ast.FunctionDef, *, is_edited: bool) -> list[ast.stmt]:
        """The statements in the syntax tree of the function, before or after the edit."""
        return _block_of(function, self.block)[self.start : self.stops[is_edited]]


def changed_statements(old: str, new: str, name: str, line: int) -> Iterator[ChangedStatements]:
    """What an edit from ``old`` to ``new`` changes in the function ``name``, never its whole body, innermost first.

    If the edit changes nothing in the function, this is the statement at ``line`` of ``old``.
    """
    functions = [dict(functions_of(ast.parse(text).body)) for text in (old, new)]
    before, after = (found[name] for found in functions)
    for block, start, stops in [*_blocks(before, after, line)][::-1]:
        sides = [_block_of(function, block)[start:stop] for function, stop in zip((before, after), stops, strict=True)]
        inside = {id(node) for statement in sides[0] for node in ast.walk(statement)}
        rest = [node for node in ast.walk(before) if id(node) not in inside and node is not before]
        parts = [node for side in sides for statement in side for node in ast.walk(statement)]
        is_all = not block and start == 0 and stops[0] == len(before.body)
        names = {*_names(rest), *_names(parts)}
        if not (is_all or any(map(_can_not_be_moved, names)) or _leaves_loop(sides)):
            yield ChangedStatements(
                block,
                start,
                stops,
                read=frozenset(_read(parts)),
                assigned=frozenset(_bound(parts)),
                kept=frozenset(_names(rest)),
                write_in_place=any(map(_writes_in_place, parts)),
                compare_identity=any(map(_compares_identity, parts)),
                of_owner=attributes_of_owner(sides, functions, name),
            )


def _block_of(function: ast.FunctionDef, block: Sequence[tuple[int, str]]) -> list[ast.stmt]:
    found = function.body
    for number, field in block:
        found = getattr(found[number], field)
    return found


def _blocks(
    before: ast.FunctionDef, after: ast.FunctionDef, line: int
) -> Iterator[tuple[tuple[tuple[int, str], ...], int, tuple[int, int]]]:
    """The blocks that contain all changes, outermost first, and where in each the changes are."""
    block: tuple[tuple[int, str], ...] = ()
    sides = before.body, after.body
    while True:
        start, stops = _changes(*sides, line)
        if stops is None:
            return
        yield block, start, stops
        pair = sides[0][start : stops[0]], sides[1][start : stops[1]]
        field = _only_changed_body(pair[0][0], pair[1][0], line) if len(pair[0]) == len(pair[1]) == 1 else None
        if field is None:
            return
        block = (*block, (start, field))
        sides = getattr(pair[0][0], field), getattr(pair[1][0], field)


def _changes(old: list[ast.stmt], new: list[ast.stmt], line: int) -> tuple[int, tuple[int, int] | None]:
    """From which statement of a block to which it changes, with at least one on each side; None if there is none."""
    texts = [[ast.dump(statement) for statement in side] for side in (old, new)]
    if texts[0] == texts[1]:
        at = next((number for number, one in enumerate(old) if one.lineno <= line <= (one.end_lineno or 0)), None)
        return (0, None) if at is None else (at, (at + 1, at + 1))
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if texts[0][at] != texts[1][at]), shorter)
    end = next((at for at in range(shorter - start) if texts[0][-1 - at] != texts[1][-1 - at]), shorter - start)
    if start == shorter - end and end:  # one side has no statement
        end -= 1
    elif start == shorter - end and start:
        start -= 1
    stops = len(old) - end, len(new) - end
    return (start, stops) if start < min(stops) else (start, None)


def _only_changed_body(old: ast.stmt, new: ast.stmt, line: int) -> str | None:
    """The only body of a statement that an edit changes, or the one with the ``line``, if it changes nothing else."""
    if type(old) is not type(new) or not isinstance(old, ast.If | ast.For | ast.While | ast.With):
        return None
    fields = [name for name, _ in ast.iter_fields(old)]
    changed = [name for name in fields if _dumped(getattr(old, name)) != _dumped(getattr(new, name))]
    if not changed:
        bodies = [name for name in _BODIES if any(_has(one, line) for one in getattr(old, name, []))]
        return next(iter(bodies), None)
    return changed[0] if len(changed) == 1 and changed[0] in _BODIES else None


def _has(statement: ast.stmt, line: int) -> bool:
    return statement.lineno <= line <= (statement.end_lineno or statement.lineno)


def _dumped(value: object) -> object:
    if isinstance(value, list):
        return [_dumped(one) for one in value]
    return ast.dump(value) if isinstance(value, ast.AST) else value


def _read(parts: Iterable[ast.AST]) -> Iterator[str]:
    """The names whose values the ``parts`` of statements may need."""
    for node in parts:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _names(parts: Iterable[ast.AST]) -> Iterator[str]:
    """The names of variables that are mentioned."""
    for node in parts:
        if isinstance(node, ast.Name):
            yield node.id
    yield from _bound(parts)


def _bound(parts: Iterable[ast.AST]) -> Iterator[str]:
    """The names to which something may be bound, or that are deleted."""
    for node in parts:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name.partition(".")[0]


def _writes_in_place(node: ast.AST) -> bool:
    """Whether a node may write to what a variable holds."""
    match node:
        case ast.AugAssign() | ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.keyword(arg="out" | "inplace"):
            return True
        case ast.Call(func=ast.Attribute(attr=name)):
            return name.endswith("_") and not name.endswith("__")
    return False


def _compares_identity(node: ast.AST) -> bool:
    """Whether a node asks if two objects are the same one, but for constants such as None, or for the ``id`` of one."""
    match node:
        case ast.Compare(ops=ops, comparators=others) if any(isinstance(one, ast.Is | ast.IsNot) for one in ops):
            return not all(isinstance(other, ast.Constant) for other in others)
        case ast.Name(id="id"):
            return True
    return False


def _can_not_be_moved(name: str) -> bool:
    """Whether a function with this name in it is another one elsewhere; private names depend on the class."""
    return name in READ_ALL or (name.startswith("__") and not name.endswith("__"))


def _leaves_loop(sides: Sequence[Sequence[ast.stmt]]) -> bool:
    """Whether statements end, or continue, a loop that they are in, or stop the function for a while."""
    return any(_stops_loop(statement) for side in sides for statement in side)


def _stops_loop(node: ast.AST, *, in_loop: bool = False) -> bool:
    if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await):
        return True
    if isinstance(node, ast.Break | ast.Continue):
        return not in_loop
    body = node.body if isinstance(node, ast.For | ast.While) else []  # what follows ``else`` is not in this loop
    return any(_stops_loop(child, in_loop=in_loop or child in body) for child in ast.iter_child_nodes(node))
