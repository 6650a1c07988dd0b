"""Which files ``fx-lsp check`` traces of the paths that it is given."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fx_lsp.changes import changed_since
from fx_lsp.exit_status import CannotCheck
from fx_lsp.import_graph import ImportGraph

_MARKS = (b"torch", b"fxcore")
"""A file of a folder is traced if it has one of these in its text."""


@dataclass(frozen=True)
class Shard:
    """One of several parts of the files, which together are all of them."""

    number: int = 1
    """From 1."""
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """The shard ``2/3``. Raises ValueError where ``text`` names none."""
        match = re.fullmatch(r"([0-9]+)/([0-9]+)", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise ValueError(text)
        return cls(int(match[1]), int(match[2]))


@dataclass(frozen=True)
class Scope:
    """Which of the files that are named to look at."""

    shard: Shard = Shard()
    since: str | None = None
    """A commit of git: only what has changed since, and what imports that."""

    def of(self, paths: Sequence[Path]) -> list[Path]:
        """The files of ``paths`` (see `files_of`) that are in it. Raises CannotCheck."""
        files = files_of(paths)
        if self.since is not None:
            folders = folders_of(paths)
            graph = ImportGraph([str(file) for folder in folders for file in python_files(Path(folder))], folders)
            reached = graph.reached_by(changed_since(self.since, folders))
            files = [file for file in files if str(file) in reached]
        return files[self.shard.number - 1 :: self.shard.of]


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The files that ``paths`` name, absolute: each file itself, each folder's Python files that mention torch.

    Hidden folders, virtual environments and ``node_modules`` are left out. Raises CannotCheck for a path that does not
    exist.
    """
    found: dict[Path, None] = {}
    for path in paths:
        absolute = _absolute(path)
        if not absolute.exists():
            raise CannotCheck(f"{path} does not exist.")
        found.update(
            dict.fromkeys(filter(_mentions_torch, python_files(absolute)) if absolute.is_dir() else [absolute])
        )
    return list(found)


def folders_of(paths: Sequence[Path]) -> list[str]:
    """What an editor would have open: the working directory, and folders for what lies outside of it."""
    here = Path.cwd()
    outside = [path for path in map(_absolute, paths) if not path.is_relative_to(here)]
    return [str(here), *(str(path if path.is_dir() else path.parent) for path in outside)]


def python_files(folder: Path) -> Iterator[Path]:
    """The Python files in ``folder`` that are the user's own, by name, each folder's before those below it."""
    return files_below(folder, (".py",))


def files_below(folder: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    """The files in ``folder`` with one of these endings that are the user's own, in the same order."""
    for directory, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if not _is_foreign(Path(directory, name)))
        yield from (Path(directory, file) for file in sorted(files) if file.endswith(endings))


def _absolute(path: Path) -> Path:
    """``path`` from the root, with symbolic links as the user wrote them."""
    return Path(os.path.normpath(path.absolute()))


def _mentions_torch(path: Path) -> bool:
    """Whether the file has to do with torch; one that can't be read may have."""
    try:
        content = path.read_bytes()
    except OSError:
        return True
    return any(mark in content for mark in _MARKS)


def _is_foreign(folder: Path) -> bool:
    """Whether it holds what is not the user's own to read: installed packages, caches."""
    if folder.name.startswith(".") or folder.name in ("node_modules", "__pycache__", "site-packages"):
        return True
    return (folder / "pyvenv.cfg").exists() or (folder / "conda-meta").exists()
