"""Do without a condition that only saves work, such as a loop's ``if len(rows) == 0: continue``.

The program has to do the same if what the condition leaves out is done after all, for example for an empty tensor.
Whether it does, the text can't tell: only a proof can.
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


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the failing expression is (a part of) the condition of an ``if`` without an ``else``.

    If its body returns or continues with the next turn of a loop, the fix removes it; otherwise, only its condition.
    """
    statement = source.statement(node)
    if not isinstance(statement, ast.If) or not source.contains(statement.test, node) or statement.orelse:
        return
    if not is_plain(source, statement) or not _may_only_save_work(statement.test):
        return
    is_shortcut = leaves(statement.body)
    change = _without(source, statement) if is_shortcut else _always(source, statement)
    if change is not None:
        yield Fix("Remove the shortcut" if is_shortcut else "Always run the body of this `if`", (change,))


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


def _without(source: Source, shortcut: ast.If) -> TextChange | None:
    """The change that removes a shortcut but keeps its comments.

    None if nothing follows it, or if its body does not end in ``return`` or ``continue``.
    """
    block = source.block(shortcut)
    following = block[block.index(shortcut) + 1 :]
    if not following or not isinstance(shortcut.body[-1], (ast.Continue, ast.Return)):
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
