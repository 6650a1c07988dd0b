"""Finds what makes ``torch.compile`` compile a program again for each further size of the batch."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from traceback import FrameSummary
from typing import Any

import torch

from fx_lsp.agent.capturing.break_places import steps_of
from fx_lsp.agent.capturing.captures import batch_size, step_of_forward
from fx_lsp.agent.capturing.torch_internals import (
    Recompiled,
    refusing_to_recompile,
    running_frames,
    watching_specializations,
)
from fx_lsp.agent.messages import Failure, Step
from fx_lsp.agent.processes.limits import is_out_of_memory
from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.running.plain_values import map_tensors

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>\S+)')
_REMARK = re.compile(r".*# (?P<file>[^#\n]+):(?P<line>\d+) in (?P<name>\S+) \(")
"""What torch writes behind a guard; the beginning of the file's path may be missing."""


def recompilation(root: Callable[..., Any], given: Input) -> tuple[Failure, ...]:
    """Why ``root`` is compiled once more for a third size of the batch, as a notice; nothing if it isn't.

    ``root`` can be compiled for the example ``given``. For a second size, torch compiles it again with a size that may
    vary, which is meant. If the program rejects another size, there is no notice.
    """
    size = batch_size(given)
    if size is None:
        return ()
    torch.compiler.reset()
    compiled = torch.compile(root, backend="eager", fullgraph=True)
    specialized: list[tuple[Step, ...]] = []
    try:
        _call(compiled, given)
        with watching_specializations(lambda: specialized.append(steps_of(running_frames()))):
            for other in (2, 3) if size == 1 else (size + 1,):
                _call(compiled, _resized(given, other))
        with refusing_to_recompile():
            _call(compiled, _resized(given, 2 * size + 4))
    except Recompiled as error:
        guard = _failed_guard(str(error))
        chain = _place_of(guard) or next(filter(None, specialized), ()) or step_of_forward(root)
        return (Failure("recompilation", guard.partition("#")[0].strip(), chain),)
    except Exception as error:
        if is_out_of_memory(error):
            raise
    return ()


def _call(compiled: Callable[..., Any], given: Input) -> None:
    compiled(*given.args, **given.kwargs)


def _resized(given: Input, size: int) -> Input:
    """``given`` with that many items in the batch: its own, again and again."""

    def resized(tensor: torch.Tensor) -> torch.Tensor:
        return torch.cat([tensor] * size)[:size] if tensor.dim() else tensor

    return Input(map_tensors(resized, given.args), map_tensors(resized, dict(given.kwargs)))


def _failed_guard(text: str) -> str:
    """The guard of the program compiled last that did not hold, with what torch remarks about it."""
    found = re.search(r"^\s*- \d+/\d+: (.*?)(?=^\s*- \d+/\d+: |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else text


def _place_of(guard: str) -> tuple[Step, ...]:
    """The line that needs the guard, according to torch's remark."""
    if found := _FRAME.search(guard):
        return steps_of([FrameSummary(found["file"], int(found["line"]), found["name"], lookup_line=False)])
    found = _REMARK.search(guard)
    read = sorted(linecache.cache)  # torch has read the line for its remark
    named = [file for file in read if found and file.endswith(found["file"])]
    if not found or not named:
        return ()
    return steps_of([FrameSummary(named[0], int(found["line"]), found["name"], lookup_line=False)])
