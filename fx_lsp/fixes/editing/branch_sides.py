"""Writes one side of an ``if`` in place of the whole statement."""

from __future__ import annotations

import ast

from fx_lsp.fixes.editing.edited_source import Source, first_line


def is_plain(source: Source, statement: ast.If) -> bool:
    """Whether ``statement`` begins a line, is not an ``elif``, and can be re-indented without changing a string."""
    strings = [node for node in ast.walk(statement) if isinstance(node, (ast.Constant, ast.JoinedStr))]
    if source.indent(statement).strip() or source.is_elif(statement):
        return False
    return all(string.lineno == string.end_lineno for string in strings)


def lines_of(source: Source, statement: ast.If, side: list[ast.stmt]) -> list[str] | None:
    """The lines of ``side`` indented like ``statement``; None if ``side`` begins on a line with other code."""
    if not side:
        return []
    first, last = side[0], side[-1]
    start, end = source.offsets(first)[0], source.offsets(last)[1]
    if source.is_elif(first):
        return (source.indent(statement) + source.text[start + len("el") : end]).split("\n")
    old, new = source.indent(first), source.indent(statement)
    if old.strip():
        return None
    top = first_line(first)
    while source.lines.line(top - 2).strip().startswith("#"):
        top -= 1
    text = source.text[source.lines.offset_of_python(top, 0) : end]
    return [new + line.removeprefix(old) if line.startswith(old) else line for line in text.split("\n")]
