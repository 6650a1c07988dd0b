"""Tells which files are the workspace's own, and which were installed."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path

INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders of installed packages, which don't belong to a workspace even if they are inside one."""

real = functools.cache(os.path.realpath)
"""The path without symbolic links, for comparing files; paths that are shown or sent keep their original spelling."""


class Roots:
    """The folders of a workspace."""

    def __init__(self, folders: Iterable[str]) -> None:
        self._folders = tuple(real(folder) + os.sep for folder in folders)
        prefixes = {real(prefix) + os.sep for prefix in (sys.prefix, sys.base_prefix)} - set(self._folders)
        self._prefixes = tuple(prefix for prefix in prefixes if prefix.startswith(self._folders))
        """Where the running Python is installed, if that is inside the workspace."""

    def __contains__(self, folder: object) -> bool:
        """Whether ``folder`` is one of the workspace's folders."""
        return real(str(folder)) + os.sep in self._folders

    def add(self, folder: str) -> None:
        """Add ``folder`` to the workspace's folders."""
        self._folders = (*self._folders, real(folder) + os.sep)

    def own(self, path: str) -> bool:
        """Whether the file at ``path`` is in one of the workspace's folders and was not installed there."""
        path = real(path)
        is_installed = path.startswith(self._prefixes) or not INSTALLED.isdisjoint(Path(path).parts)
        return path.startswith(self._folders) and not is_installed

    def own_package(self, name: str) -> bool:
        """Whether the top-level package ``name``, which is not imported, is the workspace's or does not exist.

        The workspace itself may be importable like an installed package: in editable mode, or through PYTHONPATH.
        """
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError, AttributeError):
            return True
        return spec is None or self.own_module(spec)

    def own_module(self, spec: ModuleSpec) -> bool:
        """Whether any file or folder that ``spec`` would load from is the workspace's."""
        places = [spec.origin if spec.has_location else None, *(spec.submodule_search_locations or ())]
        return any(self.own(place) for place in places if place)
