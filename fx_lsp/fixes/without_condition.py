"""Do without a condition that only saves work, such as a loop's ``if len(rows) == 0: continue``.

The program has to do the same if what the condition leaves out is done after all, for example for an empty tensor, or
with a mask that hides nothing instead of None. The text can't show whether it does: only a proof can.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.agent.messages import Span
from fx_lsp.fixes.editing import Fix, TextChange
from fx_lsp.fixes.editing.branch_sides import is_plain, lines_of
from fx_lsp.fixes.editing.data_flow import leaves
from fx_lsp.fixes.editing.edited_source import Source, first_line, for_failing_expression

_MORE = (ast.NamedExpr, ast.BoolOp, ast.IfExp)
"""Parts of a condition that may do more than ask whether there is work to do."""

_COUNTS = frozenset({"dim", "len", "ndim", "nelement", "numel", "shape", "size"})
"""The names by which a condition asks how much there is, rather than what it contains."""

_CHANGES = frozenset({"add", "append", "clear", "extend", "insert", "pop", "remove", "setdefault", "sort", "update"})
"""The methods by which a program changes a list, a dictionary or a set."""


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the failing expression is (a part of) the condition of an ``if`` without an ``else``, or of a choice
    between a value and None.

    If its body returns, continues with the next turn of a loop or only assigns None, the fix removes it; otherwise,
    only its condition or, of ``a and b``, the part that fails.
    """
    for outer in source.around(node):
        if isinstance(outer, ast.IfExp) and source.contains(outer.test, node):
            yield from _without_choice(source, outer)
            return
    statement = source.statement(node)
    if isinstance(statement, ast.Assign):
        yield from _without_shortcuts_by(source, statement)
    if not isinstance(statement, ast.If) or not source.contains(statement.test, node) or statement.orelse:
        return
    if not is_plain(source, statement) or any(map(_has_other_effects, statement.body)):
        return
    match statement.test:
        case ast.BoolOp(op=ast.And(), values=parts) if not leaves(statement.body):
            yield from _without_part(source, statement.test, parts, node)
        case test if _may_only_save_work(test):
            yield from _without_all(source, statement)


def _without_all(source: Source, statement: ast.If) -> Iterator[Fix]:
    if leaves(statement.body):
        change, title = _instead_of_none(source, statement), "Always run the body of this `if`"
        if change is None:
            change, title = _without(source, statement), "Remove the shortcut"
    elif all(_assigns_none(item) for item in statement.body):
        change, title = _without(source, statement), "Do without None"
    else:
        change, title = _always(source, statement), "Always run the body of this `if`"
    if change is not None:
        yield Fix(title, (change,))


def _without_part(source: Source, test: ast.BoolOp, parts: list[ast.expr], node: ast.expr) -> Iterator[Fix]:
    """A fix that leaves the parts of ``a and b`` that don't fail."""
    failing = [part for part in parts if source.contains(part, node)]
    kept = [part for part in parts if part not in failing]
    if all(map(_may_only_save_work, failing)) and kept:
        text = " and ".join(source.slice(part) for part in kept)
        title = f"Leave out `{source.slice(failing[0])}`, which may only save work"
        if "\n" not in title:
            yield Fix(title, (source.replaced(test, text),))


def _without_shortcuts_by(source: Source, assignment: ast.Assign) -> Iterator[Fix]:
    """A fix that removes what ``assignment`` computes, if only the conditions of shortcuts need it."""
    match assignment.targets, source.function(assignment):
        case [ast.Name(id=name)], ast.FunctionDef() as function:
            uses = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]
        case _:
            return
    reads = [use for use in uses if isinstance(use.ctx, ast.Load)]
    changes = []
    for use in reads:
        shortcut = source.statement(use)
        if not isinstance(shortcut, ast.If) or not source.contains(shortcut.test, use) or shortcut.orelse:
            return
        is_removable = leaves(shortcut.body) and is_plain(source, shortcut) and _may_only_save_work(shortcut.test)
        change = _without(source, shortcut) if is_removable else None
        if change is None or any(map(_has_other_effects, shortcut.body)):
            return
        changes.append(change)
    change = _without(source, assignment)
    if changes and len(uses) == len(reads) + 1 and change is not None:
        yield Fix("Remove the shortcut and what decides it", (change, *dict.fromkeys(changes)))


def _without_choice(source: Source, choice: ast.IfExp) -> Iterator[Fix]:
    """A fix for ``None if nothing_to_do else value``."""
    values = [side for side in (choice.body, choice.orelse) if not _is_none(side)]
    if len(values) == 1 and _may_only_save_work(choice.test):
        yield Fix("Do without None", (source.with_operation(choice, source.slice(values[0])),))


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _assigns_none(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and _is_none(statement.value)


def _has_other_effects(statement: ast.stmt) -> bool:
    """Whether a statement does something that a proof does not compare: it logs, writes, or changes an object."""
    for node in ast.walk(statement):
        match node:
            case ast.Expr(value=ast.Call(func=function)) if not _only_changes_values(function):
                return True
            case ast.Attribute(ctx=ast.Store()) | ast.Global() | ast.Nonlocal():
                return True
            case ast.Subscript(ctx=ast.Store()) if _root(node) == "self":
                return True
    return False


def _only_changes_values(function: ast.expr) -> bool:
    """Whether a call whose result nobody uses changes a tensor, in place, or a collection that the module lacks."""
    name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
    is_method = isinstance(function, ast.Attribute)
    return name.endswith("_") or (name in _CHANGES and is_method and _root(function) != "self")


def _root(value: ast.expr) -> str | None:
    """The name with which ``value`` begins: ``self`` for ``self.cache[key]``."""
    while isinstance(value, (ast.Attribute, ast.Subscript)):
        value = value.value
    return value.id if isinstance(value, ast.Name) else None


def _may_only_save_work(condition: ast.expr) -> bool:
    """Whether ``condition`` may merely ask whether there is work to do.

    ``images.max() > 1`` doesn't: a number other than zero that a value is compared with is a choice of the program's.
    """
    parts = list(ast.walk(condition))
    if any(isinstance(part, _MORE) for part in parts):
        return False
    called = {part.func.id for part in parts if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)}
    if _COUNTS & (called | {part.attr for part in parts if isinstance(part, ast.Attribute)}):
        return True
    operands = [
        operand for part in parts if isinstance(part, ast.Compare) for operand in (part.left, *part.comparators)
    ]
    return not any(_is_number_but_zero(operand) for operand in operands)


def _is_number_but_zero(node: ast.expr) -> bool:
    """Whether an expression consists of numbers: ``-1``, ``255 / 2``; zero alone does not count."""
    parts = [part for part in ast.walk(node) if isinstance(part, (ast.Constant, ast.Name, ast.Call, ast.Attribute))]
    numbers = [part.value for part in parts if isinstance(part, ast.Constant) and type(part.value) in (int, float)]
    return bool(numbers) and len(numbers) == len(parts) and numbers != [0]


def _instead_of_none(source: Source, statement: ast.If) -> TextChange | None:
    """The change that leaves ``return value`` of ``if needed: return value``, if ``return None`` follows."""
    block = source.block(statement)
    match statement.body, block[block.index(statement) + 1 :]:
        case [ast.Return(value=ast.expr() as value)], [ast.Return(value=other) as last]:
            if not _is_none(value) and (other is None or _is_none(other)):
                return source.replaced(statement, f"return {source.slice(value)}", to=last)
    return None


def _without(source: Source, shortcut: ast.If | ast.Assign) -> TextChange | None:
    """The change that removes a statement but keeps its comments.

    None if nothing follows it, or if the body of an ``if`` ends in ``raise`` or ``break``.
    """
    block = source.block(shortcut)
    following = block[block.index(shortcut) + 1 :]
    last = shortcut.body[-1] if isinstance(shortcut, ast.If) else shortcut
    if not following or not isinstance(last, (ast.Continue, ast.Return, ast.Assign)):
        return None
    start, end = source.offsets(shortcut)[0], source.lines.offset_of_python(first_line(following[0]), 0)
    indent = source.indent(shortcut)
    comments = [f"{comment}\n{indent}" for comment in source.comments_between(start, end)]
    line, col = first_line(following[0]), len(indent.encode())
    return TextChange(Span(source.path, shortcut.lineno, shortcut.col_offset, line, col), "".join(comments))


def _always(source: Source, statement: ast.If) -> TextChange | None:
    """The change that leaves only the body of ``statement``; None if it can't be indented like ``statement``."""
    lines = lines_of(source, statement, statement.body)
    if lines is None:
        return None
    indent, top = source.indent(statement), (statement.end_lineno or 0) - len(lines) + 1
    above = source.comments_between(source.offsets(statement)[0], source.lines.offset_of_python(top, 0))
    comments = [f"{indent}{comment}" for comment in above]
    return source.replaced(statement, "\n".join([*comments, *lines]).lstrip())
