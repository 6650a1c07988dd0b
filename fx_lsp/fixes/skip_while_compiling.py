"""Leave out what only prints, logs, takes the time or shows progress while a program is captured."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from typing import TypeGuard

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes.editing import Fix, ReadText, TextChange
from fx_lsp.fixes.editing.edited_source import Source, editable
from fx_lsp.fixes.editing.import_edits import imported

_LEVELS = frozenset(
    {"debug", "info", "warning", "warn", "error", "critical", "exception", "log"}
    | {"debug_once", "info_once", "warning_once", "warn_once"}
)
"""The methods of a logger that write, and ``warnings.warn``."""

_WRITERS = frozenset({"add_figure", "add_histogram", "add_image", "add_images", "add_scalar", "add_scalars"})
"""Methods by which a TensorBoard writer stores what is to be shown."""

_FUNCTIONS = frozenset(
    {"pprint.pp", "pprint.pprint", "sys.stdout.flush", "sys.stdout.write", "tqdm.auto.tqdm.write", "tqdm.tqdm.write"}
    | {"wandb.log"}
)
"""Other functions that only report something."""

_CLOCKS = frozenset(
    f"time.{name}{unit}"
    for name in ("monotonic", "perf_counter", "process_time", "thread_time", "time")
    for unit in ("", "_ns")
)
"""Functions that return the time, which passes differently in a captured program."""

_OF_COMPILE = ("graph-break", "compile-error")
"""The kinds of the failures of ``torch.compile``; the others are those of ``torch.export``."""

_LOGGERS = ("log", "logger", "logging", "warnings")

_PROGRESS = re.compile(r"tqdm(\.(auto|std|notebook))?\.(tqdm|trange)|rich\.progress\.track")
"""Functions that show the progress of a loop."""


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix if the innermost editable expression shows the progress of a loop, takes the time, is in a statement that
    does nothing but print or log, or in an ``if`` with only such statements.

    The graph may break further in, in the library that logs.
    """
    for source, node in itertools.islice(editable(failure.chain, read), 1):
        torch, doing = imported(source, "torch"), "compiling" if failure.kind in _OF_COMPILE else "exporting"
        for function, changes in _changes(source, node, f"{torch.name}.compiler.is_compiling()"):
            yield Fix(f"Leave `{function}` out while {doing}", (*torch.changes, *changes))


def _changes(source: Source, node: ast.expr, is_compiling: str) -> Iterator[tuple[str, list[TextChange]]]:
    """At most one function that is left out, and the changes; ``is_compiling`` is the condition."""
    match node, source.statement(node):
        case ast.Call() as shown, _ if items := _without_progress(source, shown):
            choice = f"{items} if {is_compiling} else {source.slice(shown)}"
            yield ast.unparse(shown.func), [source.with_operation(shown, choice)]
        case ast.Call() as clock, _ if _is_clock(clock, source) and not _decides_by_time(source, clock):
            zero = "0" if ast.unparse(clock.func).endswith("_ns") else "0.0"
            same = [one for one in ast.walk(source.function(node) or clock) if _is_clock(one, source)]
            text = f"{zero} if {is_compiling} else {source.slice(clock)}"
            yield ast.unparse(clock.func), [source.with_operation(one, text) for one in same if _is_like(one, clock)]
        case _, ast.If(test=test, body=body, orelse=[]) if source.contains(test, node) and (
            logs := _logs(source, body)
        ):
            yield logs, [only_if(source, test, is_compiling)]
        case _, ast.Expr(value=ast.Call(func=log)) as statement if is_log(log, source) and _is_alone(source, statement):
            is_one_line = statement.lineno == statement.end_lineno  # in a string, other white space would change it
            space = f"\n{source.indent(statement)}    " if is_one_line else " "
            yield ast.unparse(log), [source.before(statement, f"if not {is_compiling}:{space}")]
        case _, ast.Assign() as statement:
            around = source.parent(statement)
            if isinstance(around, ast.If) and not around.orelse and (logs := _logs(source, around.body)):
                yield logs, [only_if(source, around.test, is_compiling)]


def only_if(source: Source, test: ast.expr, is_compiling: str) -> TextChange:
    """The change by which a condition does not hold while the program is captured."""
    text = source.slice(test)
    is_loose = isinstance(test, (ast.IfExp, ast.Lambda, ast.NamedExpr, ast.BoolOp)) and not _is_and(test)
    return source.replaced(test, f"not {is_compiling} and {f'({text})' if is_loose else text}")


def _decides_by_time(source: Source, clock: ast.Call) -> bool:
    """Whether the function around ``clock`` decides by the time, as ``while time.time() < end`` does."""
    times: set[str] = set()
    nodes = [*ast.walk(source.function(clock) or source.tree)]

    def tells_time(value: ast.expr) -> bool:
        parts = [*ast.walk(value)]
        return any(_is_clock(part, source) or (isinstance(part, ast.Name) and part.id in times) for part in parts)

    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if tells_time(value):
                times.add(name)
    return any(
        isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert) and tells_time(node.test) for node in nodes
    )


def _is_clock(node: ast.AST, source: Source) -> TypeGuard[ast.Call]:
    """Whether ``node`` asks for the time."""
    return isinstance(node, ast.Call) and not node.args and source.names.qualified(node.func) in _CLOCKS


def _is_like(one: ast.Call, other: ast.Call) -> bool:
    return ast.dump(one) == ast.dump(other)


def _without_progress(source: Source, call: ast.Call) -> str:
    """What a loop iterates over whose progress ``call`` shows; empty for another call."""
    name, around = source.names.qualified(call.func) or "", source.parent(call)
    if isinstance(around, ast.Call) and isinstance(around.func, ast.Name) and around.func.id in ("enumerate", "zip"):
        around = source.parent(around)
    is_of_loop = isinstance(around, ast.For | ast.comprehension) and source.contains(around.iter, call)
    is_plain = bool(call.args) and not any(isinstance(item, ast.Starred) for item in call.args)
    if not (is_of_loop and is_plain and _PROGRESS.fullmatch(name)):
        return ""
    if name.endswith("trange"):
        return f"range({', '.join(map(source.slice, call.args))})"
    return source.operand(call.args[0])


def _logs(source: Source, body: list[ast.stmt]) -> str:
    """The first function that ``body`` calls, if it does nothing but print or log; else empty.

    It may also make up the text, and remember in a flag that nothing else reads that it has done so.
    """
    calls = [one.value for one in body if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)]
    others = [one for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Call))]
    are_logs = bool(calls) and all(is_log(call.func, source) for call in calls)
    is_own = are_logs and all(_is_only_for(source, one, source.parent(body[0])) for one in others)
    return ast.unparse(calls[0].func) if is_own else ""


def _is_only_for(source: Source, statement: ast.stmt, branch: ast.AST) -> bool:
    """Whether a statement of ``branch`` sets a name that only ``branch`` uses, or an attribute that only it reads."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            within = [*ast.walk(source.function(statement) or source.tree)]
            uses = [node for node in within if isinstance(node, ast.Name) and node.id == name]
            is_given = any(isinstance(node, ast.arg) and node.arg == name for node in within)
            return not is_given and all(source.contains(branch, node) for node in uses)
        case ast.Assign(targets=[ast.Attribute(attr=name)], value=ast.Constant()):
            attributes = [
                node for node in ast.walk(source.tree) if isinstance(node, ast.Attribute) and node.attr == name
            ]
            return all(source.contains(branch, node) for node in attributes if isinstance(node.ctx, ast.Load))
    return False


def _is_and(test: ast.expr) -> bool:
    return isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)


def _is_alone(source: Source, statement: ast.stmt) -> bool:
    """Whether no other statement shares a line with this one: a condition in front would apply to that one, too."""
    ends = {statement.lineno, statement.end_lineno}
    beside = [item for item in source.block(statement) if ends & {item.lineno, item.end_lineno}]
    return beside == [statement] and not source.indent(statement).strip()


def is_log(function: ast.expr, source: Source | None = None) -> bool:
    """Whether a function only prints or logs something; ``source`` shows what its name refers to."""
    if source is not None and source.names.qualified(function) in _FUNCTIONS:
        return True
    match function:
        case ast.Name(id="print" | "rank_zero_debug" | "rank_zero_info" | "rank_zero_warn"):
            return True
        case ast.Attribute(value=ast.Call(func=ast.Attribute(attr="getLogger")), attr=method):
            return method in _LEVELS
        case ast.Attribute(attr=method) if method in _WRITERS:
            return True
        case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=method):
            return method in _LEVELS and name.strip("_").lower() in _LOGGERS
    return False
