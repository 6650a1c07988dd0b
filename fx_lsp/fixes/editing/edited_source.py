"""A file to edit: its text, its syntax tree, and the range of the text that each node covers."""

from __future__ import annotations

import ast
import functools
import io
import json
import tokenize
from collections.abc import Callable, Iterator, Sequence, Set

from fx_lsp.agent.messages import Failure, Span, Step
from fx_lsp.documents.name_resolution import Names
from fx_lsp.documents.positions import LineIndex
from fx_lsp.documents.scopes import Function
from fx_lsp.fixes.editing import Fix, ReadText, TextChange

Node = ast.expr | ast.stmt
"""A node that has a position in the text."""

_OPERANDS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.Tuple, ast.List)
"""Expressions that need no parentheses before a dot or beside an operator. A tuple already has them."""

_BRACKETED = (ast.Call, ast.keyword, ast.Tuple, ast.List, ast.Set, ast.Dict)
"""Nodes that can contain any expression without extra parentheses."""


class Source:
    """One file. Raises SyntaxError or ValueError if its text is not valid Python."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.tree = ast.parse(text)
        self.lines = LineIndex(text)
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @functools.cached_property
    def names(self) -> Names:
        """The scopes, bindings and imports of the file's names."""
        return Names(self.tree)

    def expression(self, span: Span) -> ast.expr | None:
        """The expression at exactly ``span``; for a replacement field, the f-string, since only that has a value."""
        wanted = (span.line, span.col, span.end_line, span.end_col)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.expr):
                ends = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
                if ends == wanted:
                    return self._with_value(node)
        return None

    def _with_value(self, node: ast.expr) -> ast.expr:
        """The f-string around ``node`` if ``node`` is a replacement field or a format in one; otherwise ``node``.

        Such parts have positions of their own since Python 3.12.
        """
        around = self._parents[node]
        is_format = isinstance(around, ast.FormattedValue) and around.value is not node
        if isinstance(around, ast.expr) and (is_format or isinstance(node, ast.FormattedValue)):
            return self._with_value(around)
        return node

    def parent(self, node: ast.AST) -> ast.AST:
        """The node that ``node`` is a direct part of."""
        return self._parents[node]

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around ``node``, from the innermost to the module."""
        while node in self._parents:
            node = self._parents[node]
            yield node

    def contains(self, outer: ast.AST, node: ast.AST) -> bool:
        """Whether ``node`` is ``outer`` or a part of it."""
        return node is outer or outer in self.around(node)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that is ``node`` or contains it."""
        return next(outer for outer in (node, *self.around(node)) if isinstance(outer, ast.stmt))

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The function that ``node`` is evaluated in; None at module level, in a class body, or in a lambda."""
        for outer in self.around(node):
            if isinstance(outer, (*Function, ast.ClassDef, ast.Lambda)):
                return outer if isinstance(outer, Function) else None
        return None

    def functions(self, node: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """The functions around ``node``, the innermost first."""
        return [outer for outer in self.around(node) if isinstance(outer, Function)]

    def enclosing_class(self, node: ast.AST) -> ast.ClassDef | None:
        """The innermost class around ``node``."""
        return next((outer for outer in self.around(node) if isinstance(outer, ast.ClassDef)), None)

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that contains ``statement``."""
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
        """The text of ``node`` for use beside an operator or before a dot, in parentheses if necessary."""
        text = self.slice(node)
        return text if isinstance(node, _OPERANDS) and _stands_alone(text) else f"({text})"

    def is_elif(self, statement: ast.stmt) -> bool:
        """Whether ``statement`` is an ``if`` that is written as the ``elif`` of another ``if``."""
        return isinstance(statement, ast.If) and self.text.startswith("elif", self.offsets(statement)[0])

    def indent(self, statement: ast.stmt) -> str:
        """The text before ``statement`` on its line: white space, unless another statement comes first."""
        start, _ = self.offsets(statement)
        return self.text[self.lines.offset_of_python(statement.lineno, 0) : start]

    def span(self, node: Node, *, to: Node | None = None) -> Span:
        """The range of ``node``, or from its start to the end of ``to``."""
        last = to or node
        end_line, end_col = last.end_lineno or last.lineno, last.end_col_offset or 0
        return Span(self.path, node.lineno, node.col_offset, end_line, end_col)

    def replaced(self, node: Node, text: str, *, to: Node | None = None) -> TextChange:
        """The change that replaces ``node``, or everything from its start to the end of ``to``, with ``text``."""
        return TextChange(self.span(node, to=to), text)

    def before(self, node: Node, text: str) -> TextChange:
        """The change that puts ``text`` right before ``node``."""
        return TextChange(Span(self.path, node.lineno, node.col_offset, node.lineno, node.col_offset), text)

    def behind(self, node: Node, text: str) -> TextChange:
        """The change that puts ``text`` right after ``node``."""
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
        """The line (from 1) where the module-level statement around ``node`` begins, with decorators and comments."""
        outermost = [node, *self.around(node)][-2]
        assert isinstance(outermost, ast.stmt)
        line = first_line(outermost)
        while line > 1 and self.lines.line(line - 2).startswith("#"):
            line -= 1
        return line

    def above_definition(self, node: ast.AST, text: str) -> TextChange:
        """The change that puts the definition ``text`` above the module-level statement around ``node``."""
        line = self.start_of_definition(node)
        definition = f"{text.rstrip()}\n\n\n"
        if "\r\n" in self.text:
            definition = definition.replace("\r\n", "\n").replace("\n", "\r\n")
        return TextChange(Span(self.path, line, 0, line, 0), definition)

    def below_definition(self, definition: ast.stmt, text: str) -> TextChange:
        """The change that puts ``text`` below the module-level ``definition`` and the comment in its last line."""
        line = definition.end_lineno or definition.lineno
        col = len(self.lines.line(line - 1).encode())
        return TextChange(Span(self.path, line, col, line, col), f"\n\n\n{text}")

    def unused(self, name: str) -> str:
        """``name``, with a number appended if the file already uses it."""
        used = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)} | set(self.names.module.bindings)
        return unused_name(name, used)

    def with_operation(self, node: ast.expr, text: str) -> TextChange:
        """The change that replaces ``node`` with the operation ``text``, in parentheses if necessary."""
        parent = self.parent(node)
        is_free = isinstance(parent, (ast.stmt, *_BRACKETED)) or (
            isinstance(parent, ast.Subscript) and parent.slice is node
        )
        return self.replaced(node, text if is_free else f"({text})")

    def comments(self, node: Node, *, to: Node | None = None) -> list[str]:
        """The comments within ``node``, or from its start to the end of ``to``."""
        return self.comments_between(self.offsets(node)[0], self.offsets(to or node)[1])

    def comments_between(self, start: int, end: int) -> list[str]:
        """The comments in the text between two indices, of which neither is within a string."""
        readline = io.StringIO(f"({self.text[start:end]}\n)").readline
        try:
            tokens = list(tokenize.generate_tokens(readline))
        except (tokenize.TokenError, IndentationError):
            return []
        return [token.string for token in tokens if token.type == tokenize.COMMENT]


def _stands_alone(expression: str) -> bool:
    """Whether the text of an expression needs no brackets around it because of its line breaks."""
    try:
        return "\n" not in expression or bool(ast.parse(expression, mode="eval"))
    except SyntaxError:
        return False


def first_line(statement: ast.stmt) -> int:
    """The line (from 1) that ``statement`` begins on, its decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def unused_name(name: str, used: Set[str]) -> str:
    """``name``, with a number appended if it is among ``used``."""
    numbered = (f"{name}_{number}" for number in range(2, len(used) + 3))
    return next(choice for choice in (name, *numbered) if choice not in used)


def quoted(text: str) -> str:
    """``text`` as a Python string in double quotes, with JSON's escapes, which Python understands."""
    return json.dumps(text, ensure_ascii=False)


def tuple_text(items: Sequence[str]) -> str:
    """The text of a tuple of ``items``."""
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


@functools.lru_cache(maxsize=8)
def parsed(path: str, text: str) -> Source | None:
    """The file at ``path`` with this text; None if the text is not valid Python."""
    try:
        return Source(path, text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def source_of(path: str, read: ReadText) -> Source | None:
    """The file at ``path``; None if it must not be edited or is not valid Python."""
    text = read(path)
    return parsed(path, text) if text is not None else None


def editable(chain: Sequence[Step], read: ReadText) -> Iterator[tuple[Source, ast.expr]]:
    """Yield the expressions of ``chain``, the calls that lead to a failure, that are in files that may be edited.

    Each comes with its file, the innermost first.
    """
    for step in reversed(chain):
        source = source_of(step.span.file, read)
        node = source.expression(step.span) if source else None
        if source and node:
            yield source, node


def for_failing_expression(
    find: Callable[[Source, ast.expr], Iterator[Fix]],
) -> Callable[[Failure, ReadText], Iterator[Fix]]:
    """Turn ``find``, which takes a file and the failing expression in it, into ``fixes(failure, read)``.

    The new function finds nothing if the expression is in a file that must not be edited.
    """

    @functools.wraps(find)
    def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
        for source, node in editable(failure.chain[-1:], read):
            yield from find(source, node)

    return fixes
