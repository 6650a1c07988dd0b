"""The agent lets others go first where all want a processor: the editor, most of all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

NICENESS = 5
"""As of `os.nice`: a process at 0 gets three times as much of a processor that both want."""

_SESSION = Path("/proc/self/autogroup")
"""Where Linux shares the processors among sessions first, and only then among the processes of each: the agent, a
session of its own, would get as much as the whole editor. Writing is how the session's niceness is set (see sched(7)).
"""


def give_way() -> None:
    """Lower the priority of this process and of what it will start, unless that is low already; nothing on Windows."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, 0, max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))
    with contextlib.suppress(OSError):
        _SESSION.write_text(str(NICENESS))
