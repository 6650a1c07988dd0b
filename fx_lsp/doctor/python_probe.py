"""Asks a Python about itself: starts it as an agent is started, and has it examine its torch."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fx_lsp.locations import AGENT_FOLDER, FXCORE_FOLDER
from fx_lsp.supervisor.agent_environment import without_secrets
from fx_lsp.supervisor.agent_process import LOAD

PROGRAM = f"""{LOAD}
from fx_lsp.agent.serving.self_examination import main
main(*sys.argv[2:])
"""

SECONDS = 120.0
"""How long the Python may take: it imports torch, perhaps from a cold disk."""


@dataclass(frozen=True)
class Examination:
    """What a Python said about itself."""

    failed: str = ""
    """Why it said nothing, in one line; empty if it answered."""
    said: Mapping[str, Any] = field(default_factory=dict)
    """The answer of ``fx_lsp/agent/serving/self_examination.py:examine``."""


def examine(python: Sequence[str]) -> Examination:
    """Have the Python that the command ``python`` starts examine itself."""
    command = [*python, "-X", "utf8", "-c", PROGRAM, str(AGENT_FOLDER), str(FXCORE_FOLDER)]
    try:
        ended = subprocess.run(
            command, capture_output=True, timeout=SECONDS, env=without_secrets(os.environ), check=False
        )
    except OSError as error:
        return Examination(f"it can't be run: {error.strerror}")
    except subprocess.TimeoutExpired:
        return Examination(f"it did not answer within {SECONDS:g} seconds")
    try:
        said = json.loads(ended.stdout)
    except ValueError:
        lines = ended.stderr.decode("utf-8", "replace").strip().splitlines()
        return Examination(lines[-1] if lines else f"it ended with status {ended.returncode} and said nothing")
    return Examination(said=said) if isinstance(said, dict) else Examination("it answered something else")
