"""What to report for a target whose child died before it could."""

from __future__ import annotations

import signal

from .children import Child
from .messages import Failure, Report, Trace


def unanswered(request: Trace, key: str, child: Child) -> Report:
    """The report for the target ``key`` of ``request``, whose child is dead."""
    if child.overdue:
        seconds = request.limits.seconds
        failure = Failure("time-limit", f"it took longer than {seconds:g} seconds, outside Python code")
        return Report(request.id, key, "timed-out", (failure,))
    return Report(
        request.id, key, "crashed", (Failure("crash", f"the process that traced it {how_ended(child.status)}"),)
    )


def how_ended(status: int) -> str:
    """In words: a process's exit status, or minus the signal that ended it."""
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
