"""Tells which files are the agent's own. Code that depends on their location uses this module, so they can be moved."""

from __future__ import annotations

import os
from pathlib import Path

AGENT_FOLDER = str(Path(__file__).parent)


def is_own_file(filename: str) -> bool:
    """Whether a code object's file belongs to the agent, rather than to the user, torch or fxcore."""
    return filename.startswith(AGENT_FOLDER + os.sep)
