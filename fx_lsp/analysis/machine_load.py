"""Whether other programs keep the computer's processors busy, so that tracing should make do with less."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path

PRESSURE = Path("/proc/pressure/cpu")
"""Linux's pressure stall information: for which share of the time some process had to wait for a processor."""

WINDOW = 10.0
"""The seconds over which the pressure is averaged."""

MOST_WAITING = 80.0
"""The machine is loaded if, within `WINDOW`, some process had to wait for more than this percentage of the time.

If nothing else runs, tracing one file at a time stays below."""

MOST_RUNNING = 1.5
"""Without pressure information, the machine is loaded if more than this number of processes per processor run."""

QUIET_SECONDS = 0.5
"""How long a file has to be unchanged before it is traced on a loaded machine."""

NOTE = "waiting longer before each trace, because the computer is busy"
"""What the status says while the machine is loaded."""


def is_loaded() -> bool:
    """Whether the processors are busy; False if the system does not say."""
    with contextlib.suppress(OSError):
        if found := re.search(r"^some avg10=(\d+\.\d+)", PRESSURE.read_text("ascii"), re.MULTILINE):
            return float(found[1]) > MOST_WAITING
    if sys.platform != "win32":  # which has no load average
        with contextlib.suppress(OSError):
            return os.getloadavg()[0] > MOST_RUNNING * (os.cpu_count() or 1)
    return False
