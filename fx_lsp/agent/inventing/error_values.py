"""Which invented values may have caused an error: those that its message names, and those in its traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from traceback import walk_tb
from types import FrameType, TracebackType
from typing import Any

from fx_lsp.agent.frame_code import names_used
from fx_lsp.agent.inventing import argument_plan
from fx_lsp.agent.inventing.argument_plan import ArgumentPlan
from fx_lsp.agent.inventing.failing_statement import names_called, used_values
from fx_lsp.agent.inventing.invented_values import InventedSettings, Probe
from fx_lsp.agent.missing import missing_weights


def suspects_of(error: BaseException, plan: ArgumentPlan) -> list[str]:
    """The paths of the invented values that may have caused ``error``, the likeliest first.

    First come those that the error names, then those that the failing statements used, the innermost first, those of
    parameters that these read after they were assigned another value, and last all others in the traceback's frames.
    """
    named = [path for path in plan.kinds if isinstance(error, TypeError) and mentions(error, path)]
    used = [path_of(value, plan.made) or (source if source in plan.kinds else "") for source, value in used_by(error)]
    frames = frames_of(error.__traceback__)
    other = (path_of(value, plan.made) for frame in frames for value in list(frame.f_locals.values()))
    return list(dict.fromkeys(path for path in (*named, *used, *other) if path))


def used_by(error: BaseException) -> Iterator[tuple[str, Any]]:
    """What the failing statements in the traceback used, as `used_values` returns it, the innermost first."""
    for frame, line in steps_of(error.__traceback__):
        yield from used_values(frame, line)


def names_read(error: BaseException) -> set[str]:
    """The names, including those of attributes, in the functions that ``error`` passed through."""
    return {name for frame in frames_of(error.__traceback__) for name in names_used(frame.f_code)}


def makes_tensor(traceback: TracebackType | None) -> bool:
    """Whether the innermost statement of the program in ``traceback`` calls ``torch.Tensor``, ``torch.IntTensor``, …"""
    probes = Probe.__module__
    inside = [(frame, line) for frame, line in steps_of(traceback) if frame.f_globals.get("__name__") != probes]
    return any(name.lower().endswith("tensor") for frame, line in inside[:1] for name in names_called(frame, line))


def mentions(error: BaseException, name: str) -> bool:
    """Whether the error's message has ``name`` as a word of its own."""
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.\[])", str(error)) is not None


def path_of(value: Any, made: Mapping[int, tuple[str, Any]]) -> str:
    """The path of an invented value; empty for any other value."""
    if isinstance(value, InventedSettings):
        return str(vars(value)["_path"])
    return value.path if isinstance(value, Probe) else made.get(id(value), ("",))[0]


def frames_of(traceback: TracebackType | None) -> list[FrameType]:
    """The frames of the traceback, the innermost first, except for those of the search itself."""
    return [frame for frame, _ in steps_of(traceback)]


def steps_of(traceback: TracebackType | None) -> list[tuple[FrameType, int]]:
    """The frames of the traceback, as `frames_of` returns them, each with the line that it had reached."""
    steps = list(walk_tb(traceback))
    return [(frame, line) for frame, line in reversed(steps) if not _is_own(frame)]


def positions_of(traceback: TracebackType | None) -> tuple[int, ...]:
    """The instruction that each function in the traceback had reached, except for the search's own functions."""
    positions = []
    while traceback is not None:
        if not _is_own(traceback.tb_frame):
            positions.append(traceback.tb_lasti)
        traceback = traceback.tb_next
    return tuple(positions)


def _is_own(frame: FrameType) -> bool:
    """Whether a frame belongs to the search for arguments, not to the program."""
    return frame.f_globals.get("__name__") in _OWN


_OWN = frozenset(module.__name__ for module in (argument_plan, missing_weights)) | {f"{__package__}.argument_synthesis"}
