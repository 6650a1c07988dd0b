"""Reads the code that runs in a frame, and evaluates parts of it again."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import linecache
import re
import sys
import textwrap
import tokenize
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

import torch

_PURE = frozenset(
    {"abs", "all", "any", "float", "int", "isinstance", "len", "list", "max", "min", "round", "set", "sorted", "sum"}
    | {"tuple", "type"}
)
"""Functions that are safe to call when a part of a program is evaluated again."""

_PURE_METHODS = frozenset({"dim", "ndimension", "nelement", "numel", "size"})
"""Methods that, of a tensor, only say how large it is; other objects rarely have them."""

_COMBINE = frozenset({"enumerate", "range", "reversed", "zip"})
"""Functions that only put together what a comprehension loops over."""

_COMPREHENSIONS = frozenset({"<dictcomp>", "<genexpr>", "<listcomp>", "<setcomp>"})
"""The names of code that has no definition of its own."""

_BEGINNING = re.compile(r"\s*(@|(async\s+)?def\s|class\s)|.*(?<!\w)lambda(:|\s)")
"""The first line of a function or a class."""

_TREES: dict[tuple[str, int, str], tuple[list[str], ast.Module | None]] = {}
"""What `tree_of` has read, by file, first line and name: the lines of the file, and the tree.

The identity of the list of lines shows whether the file was read anew.
"""


def tree_of(code: CodeType) -> ast.Module | None:
    """The syntax tree of a function, with the lines of its file; None if its source can't be read.

    Each function is read once as long as its file stays the same, so callers must not change the tree.
    """
    key, lines = (code.co_filename, code.co_firstlineno, code.co_name), linecache.getlines(code.co_filename)
    known = _TREES.get(key)
    if known is None or known[0] is not lines:
        known = _TREES[key] = lines, _parsed(code, lines)
    return known[1]


def _parsed(code: CodeType, lines: list[str]) -> ast.Module | None:
    """The tree of a function in a file of ``lines``; None if it can't be read.

    That of a comprehension is the tree of the function around it. `inspect.getsourcelines` would look through all
    loaded modules for the one that the function is from.
    """
    before = max(code.co_firstlineno - 1, 0)
    if code.co_name in _COMPREHENSIONS and before < len(lines):
        before = next((at for at in range(before, 0, -1) if _BEGINNING.match(lines[at])), 0)
    rest = lines[before:]
    if not rest:
        return None
    try:
        block = rest if code.co_name == "<module>" else inspect.getblock(rest)
        tree = ast.parse(textwrap.dedent("".join(block)))
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return None
    return ast.increment_lineno(tree, before)


@functools.lru_cache(maxsize=4096)
def names_used(code: CodeType) -> tuple[str, ...]:
    """The names of the attributes and globals in a function and in those that are defined in it, each once."""
    inner = (name for one in code.co_consts if isinstance(one, CodeType) for name in names_used(one))
    return tuple(dict.fromkeys((*code.co_names, *inner)))


def is_about_to_call(frame: FrameType) -> bool:
    """Whether an opening parenthesis follows the attribute or item that ``frame`` is looking up.

    False if that is not known.
    """
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None:  # before Python 3.11
        return False
    places = itertools.islice(positions(), frame.f_lasti // 2, None)
    _, line, _, column = next(places, (None, None, None, None))
    if line is None or column is None:
        return False
    return linecache.getline(frame.f_code.co_filename, line).encode()[column:].startswith(b"(")


def is_at(node: ast.stmt | ast.expr, line: int) -> bool:
    """Whether ``line`` is one of the lines of a statement or an expression."""
    return node.lineno <= line <= (node.end_lineno or line)


def conjuncts(test: ast.expr) -> list[ast.expr]:
    """The conditions that must all hold for ``test`` to hold."""
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def value_of(node: ast.expr, names: dict[str, Any]) -> Any:
    """The value of an expression, given `names_in` a frame; None if evaluating it could have an effect.

    Raises what it raises.
    """
    return eval(ast.unparse(node), names) if is_pure(node) else None


def is_pure(node: ast.expr, calls: frozenset[str] = _PURE) -> bool:
    """Whether evaluating an expression again changes nothing, waits for nothing and computes no huge number.

    ``calls`` are the functions that it may call, besides methods that say how large a tensor is.
    """
    parts = list(ast.walk(node))
    if sum(isinstance(part, ast.Pow) for part in parts) > 1:
        return False
    for part in parts:
        if isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.LShift)):
            return False
        match part:
            case ast.Call(func=ast.Name(id=name)) if name in calls:
                pass
            case ast.Call(func=ast.Attribute(attr=name)) if name in _PURE_METHODS:
                pass
            case ast.Call():
                return False
    return True


def names_in(frame: FrameType, line: int) -> dict[str, Any]:
    """All names that code at ``line`` of ``frame`` sees.

    They are in one dict, since a generator expression doesn't see separate locals.
    """
    names = {**frame.f_globals, **frame.f_locals}
    if sys.version_info >= (3, 12):
        for comprehension in _comprehensions(frame.f_code, line):
            names = {**names, **first_values(comprehension, names), **frame.f_locals}
    return names


def _comprehensions(code: CodeType, line: int) -> Iterator[ast.comprehension]:
    """The loops of the list, set and dict comprehensions at a line.

    Since Python 3.12, these have no frames of their own, and an exception deletes their variables (PEP 709).
    """
    for node in ast.walk(tree_of(code) or ast.Pass()):
        match node:
            case ast.ListComp() | ast.SetComp() | ast.DictComp():
                if node.lineno <= line <= (node.end_lineno or node.lineno):
                    yield from node.generators


def first_values(loop: ast.comprehension, names: dict[str, Any]) -> dict[str, Any]:
    """The variables of a loop in a comprehension, with the first values that they take; empty if that is not known."""
    variables = [node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)]
    is_plain = all(isinstance(node, _TARGETS) for node in ast.walk(loop.target))
    if not is_plain or not is_pure(loop.iter, _PURE | _COMBINE):
        return {}
    sources = [loop.iter]
    while any(isinstance(source, ast.Call) for source in sources):
        sources = [part for source in sources for part in (source.args if isinstance(source, ast.Call) else [source])]
    head = f"next([{', '.join(variables)}] for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)})"
    try:
        if all(isinstance(eval(ast.unparse(source), names), _LASTING) for source in sources):
            return dict(zip(variables, eval(head, dict(names)), strict=True))
    except BaseException:  # an invented value may raise `Misused`, which is not an Exception
        pass
    return {}


_TARGETS = (ast.Name, ast.Tuple, ast.List, ast.Starred, ast.expr_context)
"""What the target of a loop consists of if it sets variables, and nothing else."""

_LASTING = (list, tuple, dict, set, frozenset, str, int, torch.Tensor)
"""What a loop doesn't use up; a number only says how long a ``range`` is."""
