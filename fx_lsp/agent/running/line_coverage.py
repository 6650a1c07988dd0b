"""Records which code a program runs: if no input reaches an edit, nothing is proven about the edit.

Statements are identified by their lines, and the two sides of a conditional expression by the instructions that are
run: Python 3.11 and later record the position of each; in 3.10, each jump in these lines has to lead to two places. An
``if`` without an ``else`` has to be skipped if a capture could not decide it, or if the edit no longer asks whether to
run its body.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import dis
import functools
import linecache
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from fx_lsp.agent.importing.workspace_importer import lines_of

Seen = set[tuple[str, int, int]]
"""The file, line and column (UTF-8 bytes, from 0) of instructions that were run.

For a line, the column is `LINE`; for a step from a line to another, it is what `_step_to` returns for the other; for a
jump, what `_jump` returns."""

LINE = -1

_JUMPS = 10**12
"""What is less than minus this, in the place of a column, stands for a jump."""

_MOST_OFFSETS = 10**6
"""More than the instructions of a function."""

TELLS_COLUMNS = hasattr(CodeType, "co_positions")
"""Whether the interpreter knows where in a line each instruction is; Python 3.10 does not."""

_END = 0
"""In a step, the line that stands for the end of the function."""

Ends = tuple[tuple[int, int], tuple[int, int]]
"""Line and column where something begins, and where it ends."""


@dataclass(frozen=True)
class Part:
    """Lines of a file, at least one of which should be run, or an expression in these lines."""

    file: str
    lines: range
    expression: Ends | None = None
    is_unchanged: bool = False
    """Whether the edit leaves this part as it is, so that no input has to reach it: it moves the part with the ``if``
    that it belongs to, or has the call of the function recorded that the part is in."""
    skipped: range | None = None
    """Lines that should be skipped once after ``lines``, the head of an ``if``, in which ``expression`` was run."""
    chooses: bool = False
    """Whether each jump in the lines should lead to two places: they contain a conditional expression, but the
    interpreter does not know where its sides are."""

    @property
    def where(self) -> str:
        """What an input has to reach."""
        line = f"line {self.lines.start}"
        if self.skipped is not None:
            return f"what follows if the condition in {line} is false"
        return line if self.expression is None and not self.chooses else f"both sides of {line}"

    def is_in(self, seen: Seen) -> bool:
        """Whether this part was run."""
        if self.skipped is not None:
            around = {_step_to(line) for line in (*self.lines, *self.skipped)} | {LINE}
            return any(
                file == self.file and line in self.lines and -_JUMPS < to < 0 and to not in around
                for file, line, to in seen
            )
        if self.chooses:
            return _all_jumps_vary(
                -col - _JUMPS for file, line, col in seen if file == self.file and line in self.lines
            )
        if self.expression is None:
            return any((self.file, line, LINE) in seen for line in self.lines)
        start, end = self.expression
        return any(file == self.file and col > LINE and start <= (line, col) < end for file, line, col in seen)


@contextlib.contextmanager
def recording_lines(parts: Collection[Part], seen: Seen) -> Iterator[None]:
    """Within the block, add to ``seen`` what is run in the files of ``parts``."""
    files = {part.file for part in parts}
    fine = {(part.file, line) for part in parts if part.expression or part.chooses for line in part.lines}
    heads = _heads(parts)

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        return in_function(frame.f_code.co_filename) if frame.f_code.co_filename in files else None

    def in_function(file: str) -> Any:
        last = _END
        run: set[tuple[int, int]] = set()  # what was run in the head of an `if`
        jump: tuple[int, int] | None = None  # the line and offset of the instruction before, if it may jump

        def traced(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last, jump
            if event == "opcode":
                if jump is not None:
                    seen.add((file, jump[0], _jump(frame.f_code, jump[1], frame.f_lasti)))
                jumps = not TELLS_COLUMNS and frame.f_lasti in _conditional_jumps(frame.f_code)
                jump = (frame.f_lineno, frame.f_lasti) if jumps else None
                if place := _place(frame.f_code, frame.f_lasti):
                    seen.add((file, *place))
                    run.add(place)
                return traced
            line = _END if event == "return" else frame.f_lineno
            if event != "exception" and any(_is_within(run, ends) for ends in heads.get((file, last), ())):
                seen.add((file, last, _step_to(line)))
            if event == "line":
                seen.add((file, line, LINE))
                frame.f_trace_opcodes = (file, line) in fine
                if (file, line) not in heads:
                    run.clear()
                last = line
            return traced

        return traced

    if parts:
        sys.settrace(called)
    try:
        yield
    finally:
        sys.settrace(None)


def _heads(parts: Collection[Part]) -> dict[tuple[str, int], set[Ends | None]]:
    """By file and line: the expressions in the heads that should be followed by something else than their bodies."""
    heads: dict[tuple[str, int], set[Ends | None]] = {}
    for part in parts:
        for line in part.lines if part.skipped else ():
            heads.setdefault((part.file, line), set()).add(part.expression)
    return heads


def _is_within(places: Collection[tuple[int, int]], ends: Ends | None) -> bool:
    """Whether one of ``places`` is within an expression; if it is not known which, true."""
    return ends is None or any(ends[0] <= place < ends[1] for place in places)


def _step_to(line: int) -> int:
    """What stands for a step to ``line`` where others have a column."""
    return LINE - 1 - line


def _jump(code: CodeType, start: int, to: int) -> int:
    """What stands for a jump between two instructions of a function."""
    return -_JUMPS - (code.co_firstlineno * _MOST_OFFSETS + start) * _MOST_OFFSETS - to


def _all_jumps_vary(jumps: Iterable[int]) -> bool:
    """Whether there are jumps, given as what `_jump` adds to `_JUMPS`, and each has led to several places."""
    ends: dict[int, set[int]] = {}
    for start, to in (divmod(jump, _MOST_OFFSETS) for jump in jumps if jump > 0):
        ends.setdefault(start, set()).add(to)
    return bool(ends) and all(len(places) > 1 for places in ends.values())


@functools.cache
def _conditional_jumps(code: CodeType) -> frozenset[int]:
    """The offsets of the instructions that jump or go on, depending on a value."""
    return frozenset(one.offset for one in dis.get_instructions(code) if "JUMP" in one.opname and "IF_" in one.opname)


@functools.cache
def _place(code: CodeType, offset: int) -> tuple[int, int] | None:
    """The line and column of an instruction; None if the interpreter does not know, or if it may jump.

    In Python 3.11, a jump to one of the sides of a conditional expression is where the expression begins, and so does
    its first side.
    """
    if not TELLS_COLUMNS or offset in _conditional_jumps(code):
        return None
    line, _, col, _ = list(code.co_positions())[offset // 2]  # type: ignore[attr-defined]
    return None if line is None or col is None else (line, col)


def parts_not_run(parts: Collection[Part], seen: Seen) -> tuple[Part, ...]:
    """The ``parts`` that were not run."""
    return tuple(part for part in parts if not part.is_in(seen))


def parts_not_in(function: str, parts: Iterable[Part]) -> list[Part]:
    """The ``parts`` that are not in a function of this name."""

    @functools.cache
    def lines_in(file: str) -> frozenset[int]:
        nodes = ast.walk(_parsed("".join(linecache.getlines(file))))
        found = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == function]
        return frozenset(line for node in found for line in _lines_of(node.body))

    return [part for part in parts if part.lines.start not in lines_in(part.file)]


def replaced_parts(file: str, old: str, new: str) -> list[Part]:
    """The statements of functions in ``old`` that are not in ``new``, except for those that lead to a ``raise``.

    Only the head of a compound statement counts, since the statements in it count separately. Both sides of a
    conditional expression that is not in ``new`` count, and that an ``if`` without an ``else`` is skipped, unless the
    edit removes it and adds nothing, or has the program check its condition instead. Statements in an ``if`` that is in
    ``new`` are moved.
    """
    lines = lines_of(new)
    matcher = difflib.SequenceMatcher(None, lines_of(old), lines, autojunk=False)
    opcodes = [change for change in matcher.get_opcodes() if change[0] != "equal"]
    gone = {line + 1 for _, start, end, _, _ in opcodes for line in range(start, end)}
    added = [line for _, _, _, start, end in opcodes for line in lines[start:end]]
    only_removes = all(map(_does_nothing, added))  # otherwise, what is added may do what the body did
    functions = [node for node in ast.walk(ast.parse(old)) if isinstance(node, ast.FunctionDef)]
    inner = dict.fromkeys(node for function in functions for node in _run_through(function.body))
    before, after = _branches(ast.parse(old)), _branches(_parsed(new))
    kept = {text for text, count in before.items() if after[text] >= count}
    moved_branches = [node for node in inner if isinstance(node, ast.If) and ast.dump(node) in kept]
    moved = {inside for branch in moved_branches for inside in ast.walk(branch) if inside is not branch}
    statements = [node for node in inner if isinstance(node, ast.stmt) and _is_run(node)]
    heads = [Part(file, _head(node), is_unchanged=node in moved) for node in statements]
    branches = [node for node in inner if isinstance(node, ast.If) and node not in moved]
    replaced = [node for node in branches if not (only_removes and gone.issuperset(_lines_of([node])))]
    checks = _checks(new) - _checks(old)
    unchecked = [node for node in replaced if not any(_names_in(node.test) <= set(names) for names in checks)]
    skips = _skips(file, unchecked, new)
    return [part for part in (*heads, *_sides(file, inner, new), *skips) if not gone.isdisjoint(part.lines)]


def _branches(tree: ast.AST) -> Counter[str]:
    """How often each ``if`` occurs, by its structure."""
    return Counter(ast.dump(node) for node in ast.walk(tree) if isinstance(node, ast.If))


def _does_nothing(line: str) -> bool:
    """Whether a line is blank, a comment or an import."""
    return not line.strip() or line.lstrip().startswith(("#", "import ", "from "))


def _checks(text: str) -> Counter[frozenset[str]]:
    """The names in the arguments of each call of ``torch._assert`` in a text."""
    calls = [node for node in ast.walk(_parsed(text)) if isinstance(node, ast.Call)]
    checks = (call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "_assert")
    return Counter(frozenset(name for argument in call.args for name in _names_in(argument)) for call in checks)


def _names_in(node: ast.AST) -> set[str]:
    """The names of variables and attributes in ``node``."""
    parts = [*ast.walk(node)]
    attributes = {part.attr for part in parts if isinstance(part, ast.Attribute)}
    return attributes | {part.id for part in parts if isinstance(part, ast.Name)}


def _skips(file: str, nodes: Iterable[ast.If], new: str) -> Iterator[Part]:
    """That each ``if`` without an ``else`` among ``nodes`` is skipped because of what ``new`` does not ask before it.

    One that raises an error need not be skipped: all inputs that the program accepts skip it.
    """
    branches = [node for node in ast.walk(_parsed(new)) if isinstance(node, ast.If) and not node.orelse]
    asked = {(_text(*node.body), _text(value)) for node in branches for value in _conjuncts(node.test)}
    for node in nodes:
        if node.orelse or not any(_run_through(node.body)):
            continue
        gone = [value for value in _conjuncts(node.test) if (_text(*node.body), _text(value)) not in asked]
        if gone and node.body[0].lineno > node.lineno:
            yield Part(file, _head(node), _ends(gone[-1]), skipped=_lines_of(node.body))


def _text(*nodes: ast.AST) -> str:
    """The nodes as text in which an attribute is named like the argument that a new function gets in its place."""
    return "\n".join(map(ast.unparse, nodes)).replace("self.", "")


def _conjuncts(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def parts_of_branch(file: str, text: str, line: int, col: int, new: str = "") -> list[Part]:
    """Both sides of the ``if`` whose condition has an expression that begins at ``line`` and ``col``: their statements.

    Without an ``else``, the other side is that the ``if`` is skipped because of this expression. An edit may move the
    statements as they are, so that their lines count as neither old nor new. Nothing has to be reached if the ``new``
    text has the same branch, which only logs, under ``not torch.compiler.is_compiling()``.
    """
    parts: list[Part] = []
    for node in ast.walk(_parsed(text)):
        if isinstance(node, ast.If) and (failing := _beginning_at(node.test, line, col)):
            if all(map(_only_logs, node.body)) and _is_kept_unless_compiling(node, new):
                continue
            inner = [*_run_through(node.body), *_run_through(node.orelse)]
            parts += [Part(file, _head(part)) for part in inner if isinstance(part, ast.stmt) and _is_run(part)]
            if inner and not node.orelse and node.body[0].lineno > node.lineno:
                parts.append(Part(file, _head(node), _ends(failing), skipped=_lines_of(node.body)))
    return parts


def _beginning_at(test: ast.expr, line: int, col: int) -> ast.expr | None:
    """The innermost expression of ``test`` that begins at this place."""
    found = [node for node in ast.walk(test) if isinstance(node, ast.expr)]
    return next((node for node in reversed(found) if (node.lineno, node.col_offset) == (line, col)), None)


def _ends(node: ast.expr) -> Ends | None:
    """Where an expression begins and ends; None if the interpreter does not know where its instructions are."""
    if not TELLS_COLUMNS:
        return None
    return (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)


_LOGS = frozenset(
    {"critical", "debug", "error", "exception", "info", "log", "print", "warn", "warning", "warning_once"}
)
"""The functions and methods that only report something."""


def _only_logs(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))):
            return name in _LOGS
    return False


def _is_kept_unless_compiling(branch: ast.If, new: str) -> bool:
    """Whether the new text has ``branch`` with the same body, under the same condition unless the program is captured.

    Then the program itself does what it did, whether an input reaches the body or not.
    """
    values = [branch.test]
    if isinstance(branch.test, ast.BoolOp) and isinstance(branch.test.op, ast.And):
        values = branch.test.values
    wanted = [[*map(ast.dump, part)] for part in (values, branch.body, branch.orelse)]
    for node in ast.walk(_parsed(new)):
        match node:
            case ast.If(test=ast.BoolOp(op=ast.And(), values=[ast.UnaryOp(op=ast.Not(), operand=first), *others])):
                found = [[*map(ast.dump, part)] for part in (others, node.body, node.orelse)]
                if found == wanted and ast.unparse(first).endswith(".is_compiling()"):
                    return True
    return False


def _lines_of(block: Sequence[ast.stmt]) -> range:
    return range(block[0].lineno, (block[-1].end_lineno or block[-1].lineno) + 1)


def _run_through(statements: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes of the statements, except for blocks that end with a ``raise``."""
    if statements and isinstance(statements[-1], ast.Raise):
        return
    for node in statements:
        waiting: list[ast.AST] = [node]
        while waiting:
            yield (inner := waiting.pop())
            for _, value in ast.iter_fields(inner):
                parts = value if isinstance(value, list) else [value]
                if parts and isinstance(parts[0], ast.stmt):
                    yield from _run_through(parts)
                else:
                    waiting += [part for part in parts if isinstance(part, ast.AST)]


def _sides(file: str, nodes: Collection[ast.AST], new: str) -> Iterator[Part]:
    """Both sides of the conditional expressions among ``nodes`` that are not in ``new``."""
    kept = {_text(node) for node in ast.walk(_parsed(new)) if isinstance(node, ast.IfExp)}
    for node in nodes:
        if isinstance(node, ast.IfExp) and _text(node) not in kept:
            if not TELLS_COLUMNS:
                yield Part(file, range(node.lineno, (node.end_lineno or node.lineno) + 1), chooses=True)
                continue
            for side in (node.body, node.orelse):
                if ends := _ends(side):
                    yield Part(file, range(ends[0][0], ends[1][0] + 1), ends)


def _parsed(text: str) -> ast.Module:
    """The tree of ``text``; an empty tree if it is not valid Python, which the import will report."""
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.Module([], [])


def _is_run(node: ast.stmt) -> bool:
    """Whether the interpreter executes the statement."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    return not isinstance(node, ast.Pass | ast.Global | ast.Nonlocal | ast.Try)


def _head(node: ast.stmt) -> range:
    body = getattr(node, "body", None)
    last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
    return range(node.lineno, last + 1)
