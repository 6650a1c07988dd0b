"""Move untraceable code into a helper function and record the call to the helper: the fix for nearly every failure.

The fix helps only if the code does nothing but compute data: what the helper function returns is a traced value again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes.editing import Fix, ReadText
from fx_lsp.fixes.editing.conditions import is_name
from fx_lsp.fixes.editing.data_flow import place
from fx_lsp.fixes.editing.decision_extent import Part, deciding_part
from fx_lsp.fixes.editing.edited_source import Source, editable
from fx_lsp.fixes.editing.extraction import Extraction, extracted
from fx_lsp.fixes.editing.helper_function import described, helper_name, with_function
from fx_lsp.fixes.editing.insertion_points import wrapping
from fx_lsp.fixes.editing.line_changes import changes_between
from fx_lsp.fixes.wrap_call import recordable_function

_NO_HELP = frozenset({"call-binding", "exception", "two-tracers", "not-a-submodule", "not-a-parameter"})
"""Kinds of failure that a recorded call does not fix."""

_MAKE_PLAIN = frozenset({"all", "any", "bool", "float", "int", "isinstance", "len", "round"})
"""Functions that do not return tensors."""

_MOST_IN_A_ROW = 6
"""How many more parts may be moved, each of which depends on the results of the previous one."""


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix, at the innermost expression that may be edited, if all code that has to move can be moved."""
    innermost = next(editable(failure.chain, read), None)
    if innermost is None or (failure.kind in _NO_HELP and not _is_looked_up(failure)):
        return
    source, node = innermost
    part = deciding_part(source, node)
    # If the call can itself be recorded, it does not need a helper function around it.
    if part is None or (isinstance(part, ast.Call) and recordable_function(source, source.span(part))):
        return
    if recorded := recorded_part(source, part):
        yield recorded


def _is_looked_up(failure: Failure) -> bool:
    """Whether a dictionary has no entry for a traced value: it may have one for the number that this stands for."""
    return failure.kind == "exception" and failure.operation == "index" and failure.error.startswith("KeyError: Proxy(")


def wrapped(source: Source, node: ast.expr) -> Fix | None:
    """The fix for an expression that the user selects; None if it cannot be moved into a helper function."""
    function = source.function(node)
    can_stand_alone = isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and not isinstance(node, _NO_VALUES)
    if function is None or source.statement(node) is function or not can_stand_alone:
        return None
    return recorded_part(source, node)


_NO_VALUES = (ast.Starred, ast.Slice, ast.JoinedStr, ast.FormattedValue)
"""Expressions that have no value by themselves, or no exact position before Python 3.12."""


def recorded_part(source: Source, part: Part) -> Fix | None:
    """The fix that moves ``part`` into a helper function; None if not all code that has to move can be moved."""
    moved = _moved(source, part)
    if moved is None:
        return None
    text, names = moved
    for name in names:
        insertion = wrapping(text, name)
        if insertion is None:
            return None
        text = insertion.text
    title = f"Move {described(part)} into {names[0]} and record its call"
    return Fix(title, changes_between(source.path, source.text, text))


def _moved(source: Source, part: Part, depth: int = 0) -> tuple[str, list[str]] | None:
    """The file's text with ``part``, and all later code that branches on its results, moved into helper functions.

    Also returns the names of these functions, in the order in which they are called. None if some of that code cannot
    be moved.
    """
    extraction = extracted(source, part)
    if extraction is None:
        return None
    flags = _flags(source, part, extraction)
    name = helper_name(source, part, extraction)
    text = with_function(source, part, extraction, name, _definition(extraction, name))
    names = [name]
    while depth < _MOST_IN_A_ROW:
        try:
            source = Source(source.path, text)
        except (SyntaxError, ValueError, RecursionError):  # the part can't stand alone
            return None
        decided = _decided(source, names[-1], flags)
        if decided is None:
            break
        moved = _moved(source, decided, depth + 1)
        if moved is None:
            return None
        text = moved[0]
        names += moved[1]
    return text, names


def _flags(source: Source, part: Part, extraction: Extraction) -> set[str]:
    """The results of ``part`` that are plain values until ``part`` is recorded: branches may depend on them."""
    if isinstance(part, ast.expr):
        match source.statement(part):
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_plain(value):
                return {name}
        return set()
    plain: set[str] = set()
    for node in ast.walk(source.function(part[0]) or part[0]):
        match node:
            case ast.Assign(targets=targets, value=value) if _is_plain(value):
                plain |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot()]):
                plain.add(name)
    return plain.intersection(extraction.outputs)


def _is_plain(value: ast.expr) -> bool:
    """Whether ``value`` is a constant, a boolean, or a number that is no tensor."""
    match value:
        case ast.Call(func=ast.Name(id=name)):
            return name in _MAKE_PLAIN
        case ast.Call(func=ast.Attribute(value=ast.Name(id="math" | "np" | "numpy")) | ast.Attribute(attr="item")):
            return True
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.UnaryOp(operand=operand):
            return _is_plain(operand)
        case ast.BinOp(left=left, right=right):
            return any(_is_plain(side) and not isinstance(side, ast.Constant) for side in (left, right))
    return isinstance(value, (ast.Constant, ast.Compare, ast.BoolOp))


def _decided(source: Source, name: str, flags: set[str]) -> Part | None:
    """The first part below the call to ``name`` that depends on one of ``flags``."""
    call = next(node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and is_name(node.func, name))
    function = source.function(call)
    uses = [
        node
        for node in ast.walk(function or call)
        if isinstance(node, ast.Name)
        and node.id in flags
        and isinstance(node.ctx, ast.Load)
        and place(node) > place(call)
    ]
    for use in sorted(uses, key=place):
        part = deciding_part(source, use)
        if part is not use:
            return part or [source.statement(use)]
    return None


def _definition(extraction: Extraction, name: str) -> str:
    lines = [*extraction.body.split("\n"), *([f"return {', '.join(extraction.outputs)}"] if extraction.outputs else [])]
    body = "\n".join(f"    {line}" if line.strip() else line for line in lines)
    return f"def {name}({', '.join(extraction.inputs)}):\n{body}"
