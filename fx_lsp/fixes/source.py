"""A file that is to be edited: its text, its syntax, and how a node of the one is a range of the other."""

from __future__ import annotations

import ast
import functools
import io
import tokenize
from collections.abc import Iterator
from dataclasses import replace

from fx_lsp.agent.messages import Failure, Span
from fx_lsp.fixes import ReadText, TextChange
from fx_lsp.names import Names
from fx_lsp.positions import LineIndex
from fx_lsp.scopes import Function

Node = ast.expr | ast.stmt
"""What has a place in the text."""

_OPERANDS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.Tuple, ast.List)
"""Expressions that can stand before a dot or beside any operator as they are; a tuple has its brackets by then."""

_BRACKETED = (ast.Call, ast.keyword, ast.Tuple, ast.List, ast.Set, ast.Dict)
"""What an expression can stand in without brackets of its own, whatever it is."""


class Source:
    """One file. Raises SyntaxError or ValueError where its text is no Python."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.tree = ast.parse(text)
        self.lines = LineIndex(text)
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @functools.cached_property
    def names(self) -> Names:
        """What the file's names stand for."""
        return Names(self.tree)

    def expression(self, span: Span) -> ast.expr | None:
        """The expression that takes up exactly ``span``."""
        wanted = (span.line, span.col, span.end_line, span.end_col)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.expr):
                ends = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
                if ends == wanted:
                    return node
        return None

    def parent(self, node: ast.AST) -> ast.AST:
        """What ``node`` is a part of."""
        return self._parents[node]

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What ``node`` stands in, from the narrowest to the module."""
        while node in self._parents:
            node = self._parents[node]
            yield node

    def contains(self, outer: ast.AST, node: ast.AST) -> bool:
        """Whether ``node`` is ``outer`` or stands in it."""
        return node is outer or outer in self.around(node)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The narrowest statement that ``node`` is or stands in."""
        return next(outer for outer in (node, *self.around(node)) if isinstance(outer, ast.stmt))

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The function that ``node`` is evaluated in; None at module level, in a class's body and in a lambda."""
        for outer in self.around(node):
            if isinstance(outer, (*Function, ast.ClassDef, ast.Lambda)):
                return outer if isinstance(outer, Function) else None
        return None

    def functions(self, node: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """The functions that ``node`` stands in, the innermost first."""
        return [outer for outer in self.around(node) if isinstance(outer, Function)]

    def enclosing_class(self, node: ast.AST) -> ast.ClassDef | None:
        """The class whose method ``node`` stands in."""
        return next((outer for outer in self.around(node) if isinstance(outer, ast.ClassDef)), None)

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements that ``statement`` is one of."""
        for _, field in ast.iter_fields(self.parent(statement)):
            if isinstance(field, list) and statement in field:
                return field
        raise ValueError("not a statement of a block")  # only `match` cases nest deeper, and each is a parent

    def offsets(self, node: Node) -> tuple[int, int]:
        """The indices into the text at which ``node`` begins and ends."""
        start = self.lines.offset_of_python(node.lineno, node.col_offset)
        return start, self.lines.offset_of_python(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def slice(self, node: Node) -> str:
        """The text of ``node``."""
        start, end = self.offsets(node)
        return self.text[start:end]

    def operand(self, node: ast.expr) -> str:
        """The text of ``node`` for a place beside an operator or before a dot: in brackets where it needs them."""
        text = self.slice(node)
        return text if isinstance(node, _OPERANDS) else f"({text})"

    def indent(self, statement: ast.stmt) -> str:
        """The white space before ``statement``, where it is the first on its line; else that and what is there."""
        start, _ = self.offsets(statement)
        return self.text[self.lines.offset_of_python(statement.lineno, 0) : start]

    def span(self, node: Node, *, to: Node | None = None) -> Span:
        """The range of ``node``, or from there to the end of ``to``."""
        last = to or node
        end_line, end_col = last.end_lineno or last.lineno, last.end_col_offset or 0
        return Span(self.path, node.lineno, node.col_offset, end_line, end_col)

    def replaced(self, node: Node, text: str, *, to: Node | None = None) -> TextChange:
        """The change that puts ``text`` in the place of ``node``, or of all from there to the end of ``to``."""
        return TextChange(self.span(node, to=to), text)

    def before(self, node: Node, text: str) -> TextChange:
        """The change that puts ``text`` right before ``node``."""
        return TextChange(Span(self.path, node.lineno, node.col_offset, node.lineno, node.col_offset), text)

    def behind(self, node: Node, text: str) -> TextChange:
        """The change that puts ``text`` right behind ``node``."""
        line, col = node.end_lineno or node.lineno, node.end_col_offset or 0
        return TextChange(Span(self.path, line, col, line, col), text)

    def below(self, statement: ast.stmt, text: str) -> TextChange:
        """The change that puts a line of ``text``, indented like ``statement``, below it."""
        line = (statement.end_lineno or statement.lineno) + 1
        indented = f"{self.indent(statement)}{text}"
        if self.lines.offset_of_python(line, 0) == len(self.text) and not self.text.endswith(("\n", "\r")):
            return self.behind(statement, f"\n{indented}")
        return TextChange(Span(self.path, line, 0, line, 0), f"{indented}\n")

    def start_of_definition(self, node: ast.AST) -> int:
        """The line (from 1) where the statement at module level begins that ``node`` is or stands in.

        It begins with its decorators and its comments.
        """
        outermost = [node, *self.around(node)][-2]
        assert isinstance(outermost, ast.stmt)
        decorators: list[ast.expr] = getattr(outermost, "decorator_list", [])
        line = min([outermost.lineno, *(decorator.lineno for decorator in decorators)])
        while line > 1 and self.lines.line(line - 2).startswith("#"):
            line -= 1
        return line

    def above_definition(self, node: ast.AST, text: str) -> TextChange:
        """The change that puts the definition ``text`` above what ``node`` stands in at module level."""
        line = self.start_of_definition(node)
        definition = f"{text.rstrip()}\n\n\n"
        if "\r\n" in self.text:
            definition = definition.replace("\r\n", "\n").replace("\n", "\r\n")
        return TextChange(Span(self.path, line, 0, line, 0), definition)

    def unused(self, name: str) -> str:
        """``name``, or that with a number, which the file does not use yet."""
        used = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)} | set(self.names.module.bindings)
        numbered = (f"{name}_{number}" for number in range(2, len(used) + 3))
        return next(choice for choice in (name, *numbered) if choice not in used)

    def with_operation(self, node: ast.expr, text: str) -> TextChange:
        """The change that puts ``text``, an operation of several operands, in the place of ``node``."""
        parent = self.parent(node)
        is_free = isinstance(parent, (ast.stmt, *_BRACKETED)) or (
            isinstance(parent, ast.Subscript) and parent.slice is node
        )
        return self.replaced(node, text if is_free else f"({text})")

    def comments(self, node: Node, *, to: Node | None = None) -> list[str]:
        """The comments within ``node``, or from there to the end of ``to``."""
        start, end = self.offsets(node)[0], self.offsets(to or node)[1]
        readline = io.StringIO(f"({self.text[start:end]}\n)").readline
        try:
            tokens = list(tokenize.generate_tokens(readline))
        except (tokenize.TokenError, IndentationError):
            return []
        return [token.string for token in tokens if token.type == tokenize.COMMENT]


@functools.lru_cache(maxsize=8)
def parsed(path: str, text: str) -> Source | None:
    """The file; None where its text is no Python."""
    try:
        return Source(path, text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def editable(failure: Failure, read: ReadText) -> Iterator[tuple[Source, ast.expr]]:
    """The expressions on the way to the failure, the innermost first, that lie in files that may be edited."""
    for step in reversed(failure.chain):
        text = read(step.span.file)
        source = parsed(step.span.file, text) if text is not None else None
        node = source.expression(step.span) if source else None
        if source and node:
            yield source, node


def failing(failure: Failure, read: ReadText) -> tuple[Source, ast.expr] | None:
    """The expression that failed, and its file; None where that must not be edited or has no such expression."""
    return next(editable(replace(failure, chain=failure.chain[-1:]), read), None)
