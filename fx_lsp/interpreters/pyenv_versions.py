"""The Pythons of pyenv, found without running it: its commands on the PATH are scripts that only choose one of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from fx_lsp.interpreters.environment_layout import python_of
from fx_lsp.interpreters.found_files import small_text


def local_pythons(folders: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """The interpreters that ``$PYENV_VERSION`` or the nearest ``.python-version`` names, each with where."""
    if version := os.environ.get("PYENV_VERSION"):
        yield from _named(version.split(":"), "$PYENV_VERSION")
        return
    for folder in folders:
        if versions := _lines(folder / ".python-version"):
            yield from _named(versions, f".python-version in {folder}")
            return


def global_pythons() -> Iterator[tuple[Path, str]]:
    """The interpreters that pyenv's commands run where no folder says otherwise."""
    yield from _named(_lines(_root() / "version"), "pyenv's global version")


def shims() -> Path:
    """The folder of pyenv's commands."""
    return _root() / "shims"


def _root() -> Path:
    if named := os.environ.get("PYENV_ROOT"):
        return Path(named)
    return Path.home() / ".pyenv" / ("pyenv-win" if os.name == "nt" else "")


def _named(versions: Iterable[str], origin: str) -> Iterator[tuple[Path, str]]:
    for version in versions:
        if (python := python_of(_root() / "versions" / _installed(version))) is not None:
            yield python, origin


def _installed(version: str) -> str:
    """The installed version that ``version`` names: itself, or the newest of its releases."""
    folder = _root() / "versions"
    if (folder / version).is_dir():
        return version
    names = [path.name for path in folder.glob(f"{version}.*")]
    releases = [name for name in names if name.replace(".", "").isdecimal()]
    return max(releases, key=lambda name: [int(part) for part in name.split(".") if part], default=version)


def _lines(file: Path) -> list[str]:
    """The words of a file of versions, without comments; none if it can't be read."""
    names = [line.partition("#")[0].strip() for line in small_text(file).splitlines()]
    return [name for name in names if name and "/" not in name and "*" not in name and "\0" not in name]
