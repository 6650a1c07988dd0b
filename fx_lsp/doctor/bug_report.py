"""One text for a bug report: the set-up and what the doctor found, without secrets and without code."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from fx_lsp.doctor.setup_checks import Result, Setup
from fx_lsp.supervisor.agent_environment import without_secrets

_TOLD = ("FX_LSP_CACHE", "FX_LSP_WITHOUT", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME", "LANG", "PATH")
"""The environment variables that can matter. No other variable is included, and none that looks like a secret."""


def bug_report(setup: Setup, results: Iterable[Result]) -> str:
    """The report. The user's home folder is written as ``~``, because its name is often a person's."""
    told = {name: value for name, value in without_secrets(os.environ).items() if name in _TOLD}
    sections = {
        "Found by fx-lsp doctor": "\n".join(map(shown, results)),
        "System": f"{platform.platform()}\nPython {sys.version}",
        "Choice of the Python that traces": "\n".join(setup.interpreter.reasons),
        "What this Python says": json.dumps(setup.examination.said, indent=2),
        "Environment variables": "\n".join(f"{name}={value}" for name, value in sorted(told.items())),
    }
    text = "\n\n".join(f"## {title}\n\n{content}" for title, content in sections.items())
    return _without_home(text) + "\n"


def _without_home(text: str) -> str:
    """``text`` with ``~`` for the home folder, also where it is written in JSON; but not for a root."""
    home = Path.home()
    if home == home.parent:
        return text
    written = {str(home), json.dumps(str(home))[1:-1]}
    # What follows may belong to the name: /home/al is not in /home/alice, /home/al-x or /home/al.x.
    return re.sub(f"({'|'.join(map(re.escape, written))})(?![\\w@+-]|\\.\\w)", "~", text)


def shown(result: Result) -> str:
    """A result as one line, and its remedy as another."""
    return f"{result.verdict:8} {result.found}" + (f"\n{'':8} -> {result.remedy}" if result.remedy else "")
