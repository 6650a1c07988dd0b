"""Ends an agent with the traces that it runs: the one place for what each system does differently."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

PROCESSES = Path("/proc")
"""Where Linux lists processes."""


def end_agent(agent: int) -> None:
    """End the process ``agent`` at once, and its traces, which lead process groups of their own.

    Raises ProcessLookupError if the agent is gone.
    """
    if sys.platform == "win32":
        os.kill(agent, signal.SIGTERM)  # its worker processes end by themselves, because their pipes are closed
    else:
        os.kill(agent, signal.SIGSTOP)  # it starts no more traces; once it is gone, its children can't be found
        for child in _children(agent):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
        os.killpg(agent, signal.SIGKILL)


def _children(parent: int) -> list[int]:
    """The ids of a process's children; none if the system doesn't report them."""
    try:
        listed = (PROCESSES / str(parent) / "task" / str(parent) / "children").read_text()
    except OSError:  # macOS has no /proc
        try:
            listed = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False).stdout
        except OSError:
            return []
    return [int(word) for word in listed.split()]
