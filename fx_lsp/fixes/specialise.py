"""Keep one side of a branch, and check that it is the right one: for a program that is only ever run that way.

The last resort, where the branch can't be moved because it calls modules. What the other side was for is refused.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes import Fix, ReadText
from fx_lsp.fixes.assertion import raises
from fx_lsp.fixes.conditions import Conditions
from fx_lsp.fixes.imports import imported
from fx_lsp.fixes.source import Source, failing


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix for each side of the ``if`` whose condition failed, first the one that the trace went on with.

    None where the caller decides: what to trace with is not for the program to say.
    """
    found = failing(failure, read)
    if found is None or failure.subject == "argument":
        return
    source, node = found
    statement = source.statement(node)
    if (
        not isinstance(statement, ast.If)
        or not source.contains(statement.test, node)
        or not _is_plain(source, statement)
    ):
        return
    torch = imported(source, "torch")
    conditions = Conditions(source, torch.name)
    sides = ((statement.body, conditions.required), (statement.orelse, conditions.excluded))
    for side, wanted in sides if "true" in failure.assumption else reversed(sides):
        checked = wanted(statement.test)
        lines = _lines(source, statement, side)
        if not checked or lines is None or raises(side):
            continue
        checks = [f"{torch.name}._assert({condition}, {_quoted(condition)})" for condition in checked]
        text = f"\n{source.indent(statement)}".join(checks) + "".join(f"\n{line}" for line in lines)
        title = f"Require {' and '.join(' '.join(condition.split()) for condition in checked)}"
        yield Fix(title, (*torch.changes, source.replaced(statement, text)))


def _is_plain(source: Source, statement: ast.If) -> bool:
    """Whether ``statement`` begins a line, is no ``elif``, and can be indented otherwise without changing a string."""
    strings = [node for node in ast.walk(statement) if isinstance(node, (ast.Constant, ast.JoinedStr))]
    if source.indent(statement).strip() or source.text.startswith("elif", source.offsets(statement)[0]):
        return False
    return all(string.lineno == string.end_lineno for string in strings)


def _lines(source: Source, statement: ast.If, side: list[ast.stmt]) -> list[str] | None:
    """``side`` as it stands in the place of ``statement``; None where it shares its line with something else."""
    if not side:
        return []
    first, last = side[0], side[-1]
    start, end = source.offsets(first)[0], source.offsets(last)[1]
    if source.text.startswith("elif", start):
        return (source.indent(statement) + source.text[start + len("el") : end]).split("\n")
    old, new = source.indent(first), source.indent(statement)
    if old.strip():
        return None
    top = first.lineno
    while source.lines.line(top - 2).strip().startswith("#"):
        top -= 1
    text = source.text[source.lines.offset_of_python(top, 0) : end]
    return [new + line.removeprefix(old) if line.startswith(old) else line for line in text.split("\n")]


def _quoted(text: str) -> str:
    return json.dumps(" ".join(text.split()), ensure_ascii=False)
