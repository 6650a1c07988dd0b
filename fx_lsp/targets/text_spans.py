"""Parts of a file's text, as spans and snippets for the agent's messages."""

from __future__ import annotations

import ast

from fx_lsp.agent.messages import Snippet, Span
from fx_lsp.documents.excerpt import shortened, text_at
from fx_lsp.documents.parse import is_python
from fx_lsp.documents.positions import LineIndex
from fx_lsp.documents.scopes import Default


class SourceText:
    """The text of one file, from which spans and snippets are taken."""

    def __init__(self, path: str, source: str) -> None:
        self._path = path
        self._lines = LineIndex(source)

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """The span of ``node``."""
        end_line, end_col = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return Span(self._path, node.lineno, node.col_offset, end_line, end_col)

    def name_span(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Span:
        """The span of the name of a class or function, which the syntax tree does not contain."""
        keyword = {ast.ClassDef: "class", ast.FunctionDef: "def", ast.AsyncFunctionDef: "async def"}[type(node)]
        line = self._lines.line(node.lineno - 1).encode()
        start = line.find(node.name.encode(), node.col_offset + len(keyword))
        if start < 0:  # the name is on the next line, after a backslash
            return Span(self._path, node.lineno, node.col_offset, node.lineno, node.col_offset + len(keyword))
        return Span(self._path, node.lineno, start, node.lineno, start + len(node.name.encode()))

    def snippet(self, node: ast.expr | ast.stmt) -> Snippet:
        """The source of ``node``, in a form that runs on its own."""
        if isinstance(node, Default):
            return Snippet(f"{ast.unparse(node.targets[0])} = {ast.unparse(node.value)}", node.lineno)
        source = text_at(self._lines, self.span(node))
        return Snippet(source if is_python(source) else f"({source})", node.lineno)


def title_of(node: ast.expr) -> str:
    """The source of ``node`` on one line, shortened; its layout in the file makes no difference."""
    return shortened(ast.unparse(node))
