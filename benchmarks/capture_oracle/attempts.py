"""One attempt at a capture with the installed torch, and the place where it fails."""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.capture_oracle.mending import position
from benchmarks.oracle.places import Place, is_users, place_of_return, raised_places


@dataclass(frozen=True)
class Stop:
    """Where a capture fails, and why."""

    place: Place | None
    """Of the innermost function, which may be a library's."""
    site: Place | None
    """Of the innermost function of the program, if there is one: it is what its author can edit."""
    why: str
    is_output: bool = False
    """Whether torch refuses what the program returns."""


def export(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Stop | None:
    """Where `torch.export` fails; None if it doesn't."""
    try:
        torch.export.export(model, args, kwargs, strict=False)
    except Exception as error:
        if "which is not a known type" in str(error):
            place = place_of_return(model)
            return Stop(place, place, said(error), is_output=True)
        return _stop(raised_places(error), error)
    return None


def compile_whole(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Stop | None:
    """Where `torch.compile` breaks the graph; None if it makes one graph of the program."""
    try:
        torch.compile(model, fullgraph=True, backend=_captured)(*args, **kwargs)
    except _Captured:
        return None
    except Exception as error:
        if isinstance(getattr(error, "inner_exception", None), _Captured):
            return None
        return _stop(_places_of_stack(getattr(error, "real_stack", None) or ()) or raised_places(error), error)
    return None  # there is nothing to compile


class _Captured(Exception):
    """Ends a compilation once the graph is complete: running it would take the values that mending made up."""


def _captured(module: Any, inputs: Any) -> Any:
    raise _Captured


def _stop(places: list[Place], error: Exception) -> Stop:
    own = [place for place in places if _belongs_to_program(place[0])] or places
    return Stop(places[-1] if places else None, own[-1] if own else None, said(error))


def _belongs_to_program(file: str) -> bool:
    """Whether a file is part of the program: not a package's or Python's, and not made up by one of these."""
    return "site-packages" not in file and not is_pythons(file) and Path(file).is_file()


def _places_of_stack(stack: Iterable[Any]) -> list[Place]:
    """Where the user's functions stood, the innermost last."""
    return [
        whole_place(frame.filename, frame.lineno, frame.colno, frame.end_colno)
        for frame in stack
        if is_users(compile("", frame.filename, "exec")) and not is_pythons(frame.filename)
    ]


def is_pythons(file: str) -> bool:
    """Whether a file is in the standard library."""
    return file.startswith(sysconfig.get_path("stdlib")) and "site-packages" not in file


def asked_by(node: ast.expr | ast.stmt) -> ast.expr | ast.stmt:
    """The expression that a statement asks for an answer or for items; any other node is given back.

    Of ``not x``, that is ``x``: the compiler reverses the jump.
    """
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        node = node.test
        while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node = node.operand
        return node
    return node.iter if isinstance(node, ast.For) else node


def whole_place(file: str, line: int, column: int, end_column: int) -> Place:
    """The place of the syntax node there, of a statement that of its condition or items: torch doesn't tell the end.

    The compiler gives the instruction that jumps the position of the whole ``if``, unless the test compares.
    """
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt) and not isinstance(node, ast.Expr):
            line_of, end_line, *columns = position(node)
            if (line_of, *columns) == (line, column, end_column):
                line_of, end_line, *columns = position(asked_by(node))
                return file, line_of, end_line or line_of, columns[0] or 0, columns[1] or 0
    return file, line, line, column, end_column


def said(error: Exception) -> str:
    """The exception's type and the first line of its text."""
    return f"{type(error).__name__}: {(str(error).strip() or ' ').splitlines()[0]}"[:200]


ATTEMPTS = {"export": export, "compile": compile_whole}
