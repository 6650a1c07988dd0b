"""Chooses the Python that traces a file: the one that its project runs with, which is seldom the server's own.

What a person says is taken as it is: the command line, the setting, the editor's selection. Otherwise, the first
interpreter that has torch is taken, among the activated environment, those of the nearest folder that has one, pyenv's,
those on the PATH, and the one that runs fx-lsp.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from fx_lsp.interpreters import pyenv_versions
from fx_lsp.interpreters.environment_layout import python_of
from fx_lsp.interpreters.found_files import sensible
from fx_lsp.interpreters.project_environments import pythons_in
from fx_lsp.interpreters.torch_presence import has_torch

_VARIABLE = re.compile(r"\$\{(workspaceFolder|userHome|env:[^}]+)\}")

NO_TORCH = "has no torch"


@dataclass(frozen=True)
class Interpreter:
    """A Python to trace with."""

    command: tuple[str, ...]
    """The executable, and the arguments that precede all others."""
    origin: str
    """Where the choice comes from, for the user: ``the setting fxLsp.interpreter``, ``$VIRTUAL_ENV``, …"""
    has_torch: bool | None = True
    """Whether torch was seen in its folders of packages; None if the command may run another Python than it names."""
    passed_over: tuple[PassedOver, ...] = ()
    """Every other interpreter that was found, in order; none if a person has named this one."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why this interpreter was taken, and why each other was not: one line for each, for the user."""
        seen = {True: "has torch", False: NO_TORCH, None: "was not searched for torch"}[self.has_torch]
        taken = f"taken: {' '.join(self.command)} ({self.origin}) {seen}"
        return (taken, *(f"not taken: {other.python} ({other.origin}) {other.reason}" for other in self.passed_over))


@dataclass(frozen=True)
class PassedOver:
    """An interpreter that was found but not taken."""

    python: str
    origin: str
    reason: str
    """Why it was not taken, phrased to follow its name."""


def choose(
    file: Path,
    root: Path | None = None,
    *,
    given: Sequence[str] = (),
    setting: Sequence[str] = (),
    selected: Sequence[str] = (),
    in_editor: bool = False,
) -> Interpreter:
    """The interpreter that serves ``file``, a file or a folder.

    ``root`` is the workspace folder that contains it. The command ``given`` on the command line, the ``setting`` and
    the Python ``selected`` in the editor are taken in this order, without checks: if one of them can't be used, the
    user has to see the error. ``in_editor``: an activated environment is the one in which the editor was started, so
    the nearest folder's environment comes before it. If no interpreter has torch, the first one is taken.
    """
    if given:
        return _ordered(given, "--python")
    if setting:
        return _ordered(expanded(setting, root), "the setting fxLsp.interpreter")
    if selected:
        return _ordered(selected, "the editor's choice")
    found = _distinct(_candidates(file, root, in_editor=in_editor))
    with_torch = {python: has_torch(Path(python)) for python in found}
    taken = next((python for python in found if with_torch[python]), next(iter(found)))
    others = tuple(
        PassedOver(python, origin, "comes later in the order" if with_torch[python] else NO_TORCH)
        for python, origin in found.items()
        if python != taken
    )
    return Interpreter((taken,), found[taken], with_torch[taken], others)


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


def _ordered(command: Sequence[str], origin: str) -> Interpreter:
    """An interpreter that a person has named. ``py -3.11`` or ``conda run …`` does not show where its packages are."""
    if len(command) > 1 and not PurePath(command[0]).name.startswith("python"):
        return Interpreter(tuple(command), origin, None)
    found = shutil.which(command[0])
    return Interpreter(tuple(command), origin, found is not None and has_torch(Path(found)))


def _distinct(candidates: Iterable[tuple[Path, str]]) -> dict[str, str]:
    """Interpreter -> its origin, in order. ``bin/python`` and ``bin/python3`` of an environment are one interpreter."""
    distinct: dict[tuple[Path, str], tuple[str, str]] = {}
    for python, origin in candidates:
        distinct.setdefault((python.parent, os.path.realpath(python)), (str(python), origin))
    return dict(distinct.values())


def _candidates(file: Path, root: Path | None, *, in_editor: bool) -> Iterator[tuple[Path, str]]:
    """The interpreters that may serve ``file``, the best first, each with its origin. One may come more than once."""
    folders = list(_folders_above(file, root))
    activated = list(sensible(_activated(), "the activated environment"))
    nearest = [found for folder in folders for found in pythons_in(folder)]
    yield from (*nearest, *activated) if in_editor else (*activated, *nearest)
    yield from sensible(pyenv_versions.local_pythons(folders), "pyenv's local version")
    yield from sensible(_on_path(), "the PATH")
    yield Path(sys.executable), "the Python that runs fx-lsp"


def _activated() -> Iterator[tuple[Path, str]]:
    """The environments that the terminal has activated, without conda's base, which every terminal may have active."""
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        environment = Path(os.environ.get(variable) or os.devnull)
        is_base = variable == "CONDA_PREFIX" and (environment / "condabin").is_dir()
        if not is_base and (python := python_of(environment)):
            yield python, f"${variable}"


def _on_path() -> Iterator[tuple[Path, str]]:
    """The Pythons that a terminal would run; in place of pyenv's commands, what they would run."""
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    shims = str(pyenv_versions.shims())
    end = folders.index(shims) if shims in folders else len(folders)
    yield from _first_in(folders[:end])
    if shims in folders:
        yield from pyenv_versions.global_pythons()
        yield from _first_in([folder for folder in folders[end:] if folder != shims])


def _first_in(folders: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """The first ``python3`` and the first ``python`` in some folders of the PATH."""
    for name in ("python3", "python") if folders else ():
        if found := shutil.which(name, path=os.pathsep.join(folders)):
            yield Path(found), f"{name} on the PATH"


def _folders_above(file: Path, root: Path | None) -> Iterable[Path]:
    """The folder of ``file`` and those above it: up to ``root``, and on up to home while they are the user's own."""
    home = Path.home()
    for folder in (file, *file.parents) if file.is_dir() else file.parents:
        is_inside = root is not None and folder.is_relative_to(root)
        if not is_inside and not _is_own(folder, home):
            return
        yield folder
        if folder == home:
            return


def _is_own(folder: Path, home: Path) -> bool:
    """Whether the folder is the user's, and nobody else can put an environment there."""
    if sys.platform == "win32":
        return folder.is_relative_to(home)
    else:  # noqa: RET505 (so that mypy knows which system this is for)
        try:
            about = folder.stat()
        except OSError:
            return False
        return about.st_uid == os.getuid() and not about.st_mode & stat.S_IWOTH
