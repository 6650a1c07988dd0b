"""Lowers priorities, so that other processes, especially the editor, and traces get processor time first."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

NICENESS = 5
"""The agent's niceness (see `os.nice`): a competing process at 0 gets three times as much processor time."""

LESS_URGENT = 10
"""How much is added to the niceness of what no one waits for: proofs and captures."""

_SESSION = Path("/proc/self/autogroup")
"""The file that sets the niceness of the session (see sched(7)). It exists if Linux divides processor time first
among sessions, and then among each session's processes. The agent has its own session, so it would otherwise get as
much as the whole editor."""


def give_way() -> None:
    """Lower the priority of this process and its future children, if it is not low already; not on Windows.

    An agent does this if it works in the background.
    """
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, 0, max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))
    with contextlib.suppress(OSError):
        _SESSION.write_text(str(NICENESS))


def keep_to_one_thread() -> None:
    """Let torch compute in one thread in this process and its future children, whatever the program asks for.

    A process with threads must not fork. Threads of a low priority also wait for each other in vain beside a busy
    process of a higher one, which can take a hundred times the processor time of the computation.
    """
    import torch

    torch.set_num_threads(1)
    torch.set_num_threads = _ignore  # type: ignore[assignment]


def _ignore(count: int) -> None:
    """Nothing, in place of a function that sets a number of threads."""


def give_way_to_traces() -> None:
    """Lower the priority of this process, for whose result no one waits, below that of traces; not on Windows.

    It stays as it is in an agent that has not given way: whoever started that agent waits for all that it does.
    """
    with contextlib.suppress(OSError, AttributeError):
        if os.getpriority(os.PRIO_PROCESS, 0) >= NICENESS:
            os.nice(LESS_URGENT)
