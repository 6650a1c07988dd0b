"""Chooses the Python that traces: the one that the project runs with, which is seldom the server's own."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_VARIABLE = re.compile(r"\$\{(workspaceFolder|userHome|env:[^}]+)\}")
_VENV_NAMES = (".venv", "venv")


@dataclass(frozen=True)
class Interpreter:
    """A Python to trace with."""

    command: tuple[str, ...]
    """The executable, and the arguments that precede all others."""
    origin: str
    """Where the choice comes from, for the user: ``the setting fxLsp.interpreter``, ``$VIRTUAL_ENV``, …"""


def choose(
    folder: Path | None,
    *,
    given: Sequence[str] = (),
    setting: Sequence[str] = (),
    selected: Sequence[str] = (),
    environ: Mapping[str, str] = os.environ,
) -> Interpreter:
    """The interpreter of a workspace folder: the first of these that exists.

    The command ``given`` on the command line, the ``setting``, the Python ``selected`` in the editor,
    ``$VIRTUAL_ENV``, a virtual environment in the folder, the PATH, and finally the Python that runs fx-lsp. The first
    three are not checked: if one of them can't be run, the user has to see the error.
    """
    if given:
        return Interpreter(tuple(given), "--python")
    if setting:
        return Interpreter(expanded(setting, folder, environ), "the setting fxLsp.interpreter")
    if selected:
        return Interpreter(tuple(selected), "the editor's choice")
    active = environ.get("VIRTUAL_ENV")
    if active and (python := _venv_python(Path(active))):
        return Interpreter((str(python),), "$VIRTUAL_ENV")
    for name in _VENV_NAMES if folder else ():
        if folder and (python := _venv_python(folder / name)):
            return Interpreter((str(python),), f"{name} in the workspace folder")
    for name in ("python3", "python"):
        if found := shutil.which(name, path=environ.get("PATH")):
            return Interpreter((found,), "the PATH")
    return Interpreter((sys.executable,), "the server's own Python")


def expanded(command: Sequence[str], folder: Path | None, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """``command`` with ``~``, ``${workspaceFolder}``, ``${userHome}`` and ``${env:NAME}`` replaced.

    An executable given as a relative path with a directory is resolved against ``folder``.
    """
    home = environ.get("HOME") or str(Path.home())

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name == "workspaceFolder":
            return str(folder or Path.cwd())
        return home if name == "userHome" else environ.get(name.removeprefix("env:"), "")

    words = [_VARIABLE.sub(value, word) for word in command]
    words = [home + word[1:] if word == "~" or word.startswith(("~/", "~\\")) else word for word in words]
    executable = Path(words[0])
    if folder and len(executable.parts) > 1:
        words[0] = str(folder / executable)
    return tuple(words)


def _venv_python(directory: Path) -> Path | None:
    """The interpreter of the virtual environment (or conda environment) in ``directory``."""
    for relative in ("bin/python", "Scripts/python.exe", "python.exe"):
        if (python := directory / relative).is_file():
            return python
    return None
