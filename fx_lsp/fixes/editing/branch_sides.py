"""Writes one side of an ``if`` in place of the whole statement, or finds what both sides do with one value each."""

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


def stored_alike(source: Source, statement: ast.If) -> tuple[str, ast.expr, ast.expr, str] | None:
    """What both sides append to one list, or put into one item of something, with the text before and behind it.

    None if a side does anything else, or if the function is given what is changed, and does not assign the name itself.
    """
    match statement.body, statement.orelse:
        case (
            [ast.Expr(value=ast.Call(func=ast.Attribute(ast.Name(), "append") as one, args=[value], keywords=[]))],
            [ast.Expr(value=ast.Call(func=ast.Attribute(ast.Name(), "append") as two, args=[other], keywords=[]))],
        ):
            ends = ("(", ")")
        case (
            [ast.Assign(targets=[ast.Subscript(value=ast.Name()) as one], value=value)],
            [ast.Assign(targets=[ast.Subscript(value=ast.Name()) as two], value=other)],
        ):
            ends = (" = ", "")
        case _:
            return None
    is_plain = not isinstance(value, ast.Starred) and not isinstance(other, ast.Starred)
    if not is_plain or ast.dump(one) != ast.dump(two) or _is_given(source, one.value):
        return None
    return f"{source.slice(one)}{ends[0]}", value, other, ends[1]


def _is_given(source: Source, value: ast.expr) -> bool:
    """Whether the function does not itself assign the name ``value``."""
    function = source.function(value)
    stores = (node for node in ast.walk(function or ast.Pass()) if isinstance(node, ast.Name))
    return not any(node.id == getattr(value, "id", "") and isinstance(node.ctx, ast.Store) for node in stores)
