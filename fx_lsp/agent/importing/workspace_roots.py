"""Which files are the workspace's own, and which were installed."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path

INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders whose contents were installed, and so are nobody's workspace although they may lie in one."""

real = functools.cache(os.path.realpath)
"""The path without symbolic links, by which files are compared; what is shown and sent keeps the spelling it had."""


class Roots:
    """The folders of a workspace."""

    def __init__(self, folders: Iterable[str]) -> None:
        self._folders = tuple(real(folder) + os.sep for folder in folders)
        prefixes = {real(prefix) + os.sep for prefix in (sys.prefix, sys.base_prefix)} - set(self._folders)
        self._prefixes = tuple(prefix for prefix in prefixes if prefix.startswith(self._folders))
        """Those of a Python that is installed in it."""

    def __contains__(self, folder: object) -> bool:
        """Whether ``folder`` is one of them."""
        return real(str(folder)) + os.sep in self._folders

    def add(self, folder: str) -> None:
        """Count what is in ``folder`` to the workspace, too."""
        self._folders = (*self._folders, real(folder) + os.sep)

    def own(self, path: str) -> bool:
        """Whether the file at ``path`` is in one of them, and was not installed there."""
        path = real(path)
        is_installed = path.startswith(self._prefixes) or not INSTALLED.isdisjoint(Path(path).parts)
        return path.startswith(self._folders) and not is_installed

    def own_package(self, name: str) -> bool:
        """Whether the outermost package ``name``, which is not imported for that, is the workspace's, or is nowhere.

        The workspace itself may be among what is installed: in place, or by PYTHONPATH.
        """
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError, AttributeError):
            return True
        return spec is None or self.own_module(spec)

    def own_module(self, spec: ModuleSpec) -> bool:
        """Whether any of what ``spec`` would load is the workspace's."""
        places = [spec.origin if spec.has_location else None, *(spec.submodule_search_locations or ())]
        return any(self.own(place) for place in places if place)
