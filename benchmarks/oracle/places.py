"""Places in the user's code: of running functions, of exceptions, and of what a function returns."""

from __future__ import annotations

import contextlib
import dis
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch
import torch.fx

Place = tuple[str, int, int, int, int]
"""An expression: file, first line from 1, last line, column of the first byte from 0, column after the last byte."""

_TORCH = str(Path(torch.__file__).parent / "_")[:-1]
_ORACLES = (str(Path(__file__).parent), str(Path(__file__).parents[1] / "capture_oracle"))
_NOT_THE_USERS = (_TORCH, *_ORACLES, contextlib.__file__, "<frozen")
_TRACE = torch.fx.Tracer.trace.__code__
_ONLY_ASKING = ("POP_JUMP", "JUMP_IF", "GET_ITER", "UNARY_NOT", "CACHE", "COPY")


def place_of(code: CodeType, lasti: int) -> Place:
    """The expression at an instruction; at one that only tests or iterates, the expression whose value it takes."""
    while dis.opname[code.co_code[lasti]].startswith(_ONLY_ASKING):
        if lasti < 2 or _position(code, lasti - 2) is None:
            break
        lasti -= 2
    line = code.co_firstlineno
    return (code.co_filename, *(_position(code, lasti) or (line, line, 0, 0)))


def _position(code: CodeType, lasti: int) -> tuple[int, int, int, int] | None:
    positions: Any = code.co_positions  # type: ignore[attr-defined]
    found = list(positions())[lasti // 2]
    return None if None in found else found


def is_users(code: CodeType) -> bool:
    """Whether code is neither torch's nor an oracle's."""
    return not code.co_filename.startswith(_NOT_THE_USERS)


def shown(place: Place | None) -> str:
    """A place as text: its file, line and column."""
    return "no place" if place is None else f"`{place[0]}:{place[1]}:{place[3]}`"


def running_place() -> Place | None:
    """Where the innermost of the user's running functions stands."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code):
        frame = None if frame.f_code is _TRACE else frame.f_back
    return None if frame is None else place_of(frame.f_code, frame.f_lasti)


def raised_place(error: BaseException) -> Place | None:
    """Where the innermost of the user's functions stood that an exception went through."""
    found = raised_places(error)
    return found[-1] if found else None


def raised_places(error: BaseException) -> list[Place]:
    """Where each of the user's functions stood that an exception went through, the innermost last."""
    found = []
    at = error.__traceback__
    while at is not None:
        if is_users(at.tb_frame.f_code):
            found.append(place_of(at.tb_frame.f_code, at.tb_lasti))
        at = at.tb_next
    return found


def place_of_return(root: torch.nn.Module) -> Place:
    """The ``return`` of a module's forward: torch.fx names no place where it can't keep what that returns."""
    code = type(root).forward.__code__
    returns = [at.offset for at in dis.get_instructions(code) if at.opname == "RETURN_VALUE"]
    return place_of(code, returns[-1])
