"""Pieces of a file's text as the messages carry them."""

from __future__ import annotations

import ast

from fx_lsp.agent.messages import Snippet, Span
from fx_lsp.excerpt import lines_of, text_at

LONGEST_TITLE = 60
"""Characters of a title; what is longer is cut."""


class Text:
    """One file's text, from which spans and snippets are taken."""

    def __init__(self, path: str, source: str) -> None:
        self._path = path
        self._lines = lines_of(source)

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """Where ``node`` stands."""
        end_line, end_col = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return Span(self._path, node.lineno, node.col_offset, end_line, end_col)

    def name_span(self, node: ast.ClassDef) -> Span:
        """Where the class's name stands, which the syntax tree does not say."""
        start = self._lines[node.lineno - 1].encode().find(node.name.encode(), node.col_offset + len("class"))
        if start < 0:  # the name is on a line of its own, behind a backslash
            return Span(self._path, node.lineno, node.col_offset, node.lineno, node.col_offset + len("class"))
        return Span(self._path, node.lineno, start, node.lineno, start + len(node.name.encode()))

    def snippet(self, node: ast.expr | ast.stmt) -> Snippet:
        """``node`` as it can be run on its own."""
        source = text_at(self._lines, self.span(node))
        if isinstance(node, ast.expr) and len(lines_of(source)) > 1:
            source = f"({source})"  # it stood between brackets that are not its own
        return Snippet(source, node.lineno)


def title_of(node: ast.expr) -> str:
    """``node`` on one line, cut to ``LONGEST_TITLE``; the same however it is laid out."""
    text = ast.unparse(node)
    return text if len(text) <= LONGEST_TITLE else f"{text[: LONGEST_TITLE - 1]}…"
