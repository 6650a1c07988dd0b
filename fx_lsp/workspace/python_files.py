"""Which files ``fx-lsp check`` traces, given the paths on its command line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fx_lsp.errors import CannotCheck
from fx_lsp.workspace.git_changes import changed_since
from fx_lsp.workspace.import_graph import ImportGraph

_MARKS = (b"torch", b"fxcore")
"""A file in a folder is traced if its text contains one of these."""


@dataclass(frozen=True)
class Shard:
    """One of several parts into which the files are divided."""

    number: int = 1
    """The number of the part, from 1."""
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """The shard that ``text`` names, e.g. ``2/3``. Raises ValueError if ``text`` is not a valid shard."""
        match = re.fullmatch(r"([0-9]+)/([0-9]+)", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise ValueError(text)
        return cls(int(match[1]), int(match[2]))


@dataclass(frozen=True)
class FileSelection:
    """Which of the named files to trace."""

    shard: Shard = Shard()
    since: str | None = None
    """A git commit: select only files that have changed since then, and files that import these."""

    def of(self, paths: Sequence[Path]) -> list[Path]:
        """The selected files among ``files_of(paths)``. Raises CannotCheck."""
        files = files_of(paths)
        if self.since is not None:
            folders = folders_of(paths)
            graph = ImportGraph([str(file) for folder in folders for file in python_files(Path(folder))], folders)
            reached = graph.reached_by(changed_since(self.since, folders))
            files = [file for file in files if str(file) in reached]
        return files[self.shard.number - 1 :: self.shard.of]


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The absolute paths that ``paths`` name: each file itself, and the Python files in a folder that mention torch.

    Hidden folders, virtual environments and ``node_modules`` are skipped. Raises CannotCheck for a path that does not
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
    """The folders that an editor would have open: the working directory, and a folder for each path outside it."""
    here = Path.cwd()
    outside = [path for path in map(_absolute, paths) if not path.is_relative_to(here)]
    return [str(here), *(str(path if path.is_dir() else path.parent) for path in outside)]


def python_files(folder: Path) -> Iterator[Path]:
    """The user's own Python files in ``folder``, sorted by name, each folder's files before those of its subfolders."""
    return files_below(folder, (".py",))


def files_below(folder: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    """The user's own files in ``folder`` with one of these endings, in the order of `python_files`.

    Only regular files count: reading from a pipe would wait for a writer.
    """
    for directory, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if not _is_foreign(Path(directory, name)))
        paths = (Path(directory, file) for file in sorted(files) if file.endswith(endings))
        yield from (path for path in paths if os.path.isfile(path))  # noqa: PTH113 (never raises)


def _absolute(path: Path) -> Path:
    """``path`` made absolute, without resolving symbolic links."""
    return Path(os.path.normpath(path.absolute()))


def _mentions_torch(path: Path) -> bool:
    """Whether the file mentions torch, or cannot be read."""
    try:
        content = path.read_bytes()
    except OSError:
        return True
    return any(mark in content for mark in _MARKS)


def _is_foreign(folder: Path) -> bool:
    """Whether the folder holds files that are not the user's own: installed packages, caches."""
    is_known = folder.name.startswith(".") or folder.name in ("node_modules", "__pycache__", "site-packages")
    return is_known or is_environment(folder)


def is_environment(folder: Path) -> bool:
    """Whether ``folder`` is a virtual environment (PEP 405) or a conda environment."""
    marks = (folder / "pyvenv.cfg", folder / "conda-meta")
    return any(os.path.exists(mark) for mark in marks)  # noqa: PTH110 (never raises, even if the folder is closed)
