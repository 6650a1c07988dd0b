"""Which files are the user's own: those in the workspace's folders that no package manager installed there."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from pathlib import Path, PurePath

from fx_lsp.workspace.python_files import is_environment

_INSTALLED = frozenset({"site-packages", "dist-packages", "node_modules"})


class Workspace:
    """The folders that are open in the editor, or that ``fx-lsp check`` works on."""

    def __init__(self, folders: Iterable[str] = ()) -> None:
        self.folders: tuple[str, ...] = ()
        """Absolute paths."""
        self._folder_of: dict[str, str] = {}
        """What `folder_of` has answered."""
        self.set_folders(folders)
        self._is_environment = functools.cache(is_environment)

    def set_folders(self, folders: Iterable[str]) -> None:
        """Replace the open folders."""
        self.folders = tuple(dict.fromkeys(os.path.normpath(folder) for folder in folders))
        self._folder_of.clear()

    def folder_of(self, path: str) -> str:
        """The innermost open folder that contains ``path``; for a file outside all of them, its directory."""
        if path not in self._folder_of:
            holding = [folder for folder in self.folders if PurePath(path).is_relative_to(folder)]
            self._folder_of[path] = max(holding, key=len, default=str(PurePath(path).parent))
        return self._folder_of[path]

    def roots_of(self, path: str) -> tuple[str, ...]:
        """The folders whose modules count as the user's while ``path`` is traced."""
        folder = self.folder_of(path)
        return self.folders if folder in self.folders else (*self.folders, folder)

    def owns(self, path: str, roots: Iterable[str] | None = None) -> bool:
        """Whether ``path`` is in one of ``roots`` (by default the workspace's), outside virtual environments."""
        return any(
            PurePath(path).is_relative_to(root) and not self._installed(path, root)
            for root in (self.folders if roots is None else roots)
        )

    def traces(self, path: str) -> bool:
        """Whether to trace ``path`` when it is open, i.e. whether it is the user's own file."""
        if self.folder_of(path) not in self.folders:
            return _INSTALLED.isdisjoint(PurePath(path).parts)
        return self.owns(path)

    def _installed(self, path: str, root: str) -> bool:
        """Whether a directory between ``root`` and the file holds installed packages."""
        inside = PurePath(path).relative_to(root)
        if not _INSTALLED.isdisjoint(inside.parts):
            return True
        directories = [Path(root, *inside.parts[:depth]) for depth in range(1, len(inside.parts))]
        return any(map(self._is_environment, directories))
