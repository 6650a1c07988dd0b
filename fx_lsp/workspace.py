"""Which files are the user's own to mend: those in the workspace's folders that were not installed there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePath

_INSTALLED = frozenset({"site-packages", "dist-packages", "node_modules"})


class Workspace:
    """The folders that are open in the editor."""

    def __init__(self, folders: Iterable[str] = ()) -> None:
        self.folders: tuple[str, ...] = ()
        """Absolute paths."""
        self.set_folders(folders)
        self._environments: dict[str, bool] = {}

    def set_folders(self, folders: Iterable[str]) -> None:
        """Other folders are open."""
        self.folders = tuple(dict.fromkeys(os.path.normpath(folder) for folder in folders))

    def folder_of(self, path: str) -> str:
        """The innermost folder that holds ``path``; for a file of no folder the directory that it lies in."""
        holding = [folder for folder in self.folders if PurePath(path).is_relative_to(folder)]
        return max(holding, key=len, default=str(PurePath(path).parent))

    def roots_of(self, path: str) -> tuple[str, ...]:
        """The folders whose modules are the user's while ``path`` is traced."""
        folder = self.folder_of(path)
        return self.folders if folder in self.folders else (*self.folders, folder)

    def owns(self, path: str, roots: Iterable[str] | None = None) -> bool:
        """Whether ``path`` lies in one of ``roots`` (the workspace's folders), outside of virtual environments."""
        return any(
            PurePath(path).is_relative_to(root) and not self._installed(path, root)
            for root in (self.folders if roots is None else roots)
        )

    def traces(self, path: str) -> bool:
        """Whether ``path`` is one to be traced when it is open: it is the user's own."""
        if self.folder_of(path) not in self.folders:
            return _INSTALLED.isdisjoint(PurePath(path).parts)
        return self.owns(path)

    def _installed(self, path: str, root: str) -> bool:
        """Whether a directory between ``root`` and the file holds packages that were installed."""
        inside = PurePath(path).relative_to(root)
        if not _INSTALLED.isdisjoint(inside.parts):
            return True
        directories = [PurePath(root, *inside.parts[:depth]) for depth in range(1, len(inside.parts))]
        return any(self._is_environment(str(directory)) for directory in directories)

    def _is_environment(self, directory: str) -> bool:
        """Whether ``directory`` is a virtual environment (PEP 405) or a conda environment."""
        if directory not in self._environments:
            marks = (Path(directory, "pyvenv.cfg"), Path(directory, "conda-meta"))
            self._environments[directory] = any(mark.exists() for mark in marks)
        return self._environments[directory]
