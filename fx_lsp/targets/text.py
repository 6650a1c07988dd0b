"""Pieces of a file's text as the messages carry them."""

from __future__ import annotations

import ast

from fx_lsp.agent.messages import Snippet, Span
from fx_lsp.excerpt import text_at
from fx_lsp.positions import LineIndex
from fx_lsp.scopes import Default

LONGEST_TITLE = 60
"""Characters of a title; what is longer is cut."""


class Text:
    """One file's text, from which spans and snippets are taken."""

    def __init__(self, path: str, source: str) -> None:
        self._path = path
        self._lines = LineIndex(source)

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """Where ``node`` stands."""
        end_line, end_col = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return Span(self._path, node.lineno, node.col_offset, end_line, end_col)

    def name_span(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Span:
        """Where the name of a class or function stands, which the syntax tree does not say."""
        keyword = {ast.ClassDef: "class", ast.FunctionDef: "def", ast.AsyncFunctionDef: "async def"}[type(node)]
        line = self._lines.line(node.lineno - 1).encode()
        start = line.find(node.name.encode(), node.col_offset + len(keyword))
        if start < 0:  # the name is on a line of its own, behind a backslash
            return Span(self._path, node.lineno, node.col_offset, node.lineno, node.col_offset + len(keyword))
        return Span(self._path, node.lineno, start, node.lineno, start + len(node.name.encode()))

    def snippet(self, node: ast.expr | ast.stmt) -> Snippet:
        """``node`` as it can be run on its own."""
        if isinstance(node, Default):
            return Snippet(f"{ast.unparse(node.targets[0])} = {ast.unparse(node.value)}", node.lineno)
        source = text_at(self._lines, self.span(node))
        return Snippet(source if _stands_alone(source) else f"({source})", node.lineno)


def title_of(node: ast.expr) -> str:
    """``node`` on one line, cut to ``LONGEST_TITLE``; the same however it is laid out."""
    text = ast.unparse(node)
    return text if len(text) <= LONGEST_TITLE else f"{text[: LONGEST_TITLE - 1]}…"


def _stands_alone(source: str) -> bool:
    """Whether it is Python without the brackets that may have stood around it."""
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True
