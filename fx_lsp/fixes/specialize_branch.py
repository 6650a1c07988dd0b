"""Keep only one side of a branch, and check the condition: for a program that never takes the other side.

This is the last resort if the branch cannot be moved because it calls modules. The graph rejects inputs for which the
program would take the other side.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes.editing import Fix, ReadText
from fx_lsp.fixes.editing.branch_sides import is_plain, lines_of
from fx_lsp.fixes.editing.conditions import Conditions
from fx_lsp.fixes.editing.edited_source import editable, quoted
from fx_lsp.fixes.editing.import_edits import imported
from fx_lsp.fixes.torch_assert import raises


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix for each side of the ``if`` whose condition failed, starting with the one that the trace continued with.

    There is no fix if an argument of the call itself decides: then the caller, not the program, chooses the side.
    """
    innermost = next(editable(failure.chain[-1:], read), None)
    if innermost is None or failure.subject == "argument":
        return
    source, node = innermost
    statement = source.statement(node)
    if (
        not isinstance(statement, ast.If)
        or not source.contains(statement.test, node)
        or not is_plain(source, statement)
    ):
        return
    torch = imported(source, "torch")
    conditions = Conditions(source, torch.name)
    body, other = statement.body, statement.orelse
    sides = ((body, other, conditions.required), (other, body, conditions.excluded))
    for side, left_out, wanted in sides if "true" in failure.assumption else reversed(sides):
        checked = wanted(statement.test)
        lines = lines_of(source, statement, side)
        if not checked or lines is None or raises(side):
            continue
        in_one_line = [" ".join(condition.split()) for condition in checked]
        checks = [
            f"{torch.name}._assert({condition}, {quoted(shown)})"
            for condition, shown in zip(checked, in_one_line, strict=True)
        ]
        text = f"\n{source.indent(statement)}".join(checks) + "".join(f"\n{line}" for line in lines)
        title = f"Require {' and '.join(map(_in_one_line, checked))}"
        yield Fix(title, (*torch.changes, source.replaced(statement, text)), rejects_inputs=_may_go_on(left_out))


def _may_go_on(block: list[ast.stmt]) -> bool:
    """Whether a block does something, and does not end by raising an error."""
    does_nothing = (ast.Pass, ast.Global, ast.Nonlocal)
    does = [each for each in block if not isinstance(each, does_nothing) and not isinstance(_value(each), ast.Constant)]
    return bool(does) and not raises(block) and not isinstance(block[-1], ast.Raise)


def _value(statement: ast.stmt) -> ast.expr | None:
    return statement.value if isinstance(statement, ast.Expr) else None


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
