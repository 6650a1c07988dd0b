"""Finds folders of the workspace that are meant by the name of an installed package.

A program may be kept in a folder without an ``__init__.py`` that has the name of an installed package, perhaps of the
one that it was derived from. Python then always imports the installed one, whatever comes first on ``sys.path``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

_SUBMODULES = re.compile(r"^\s*(?:from|import)\s+(\w+(?:\.\w+)+)", re.MULTILINE)
"""The dotted names of modules that a file imports."""


def meant_folders(
    source: str, file: str, entries: Iterable[str], is_own: Callable[[ModuleSpec], bool]
) -> dict[str, Path]:
    """The folders in ``entries`` that ``file`` imports modules from by the names of installed packages.

    A folder counts if it contains a module that is imported from it, and that the installed package lacks; or if it
    contains such a module and ``file``, which the installed package lacks. ``source`` is the text of ``file``;
    ``is_own`` says whether a package is the workspace's.
    """
    wanted: dict[str, set[str]] = {}
    for name in _SUBMODULES.findall(source):
        top, _, rest = name.partition(".")
        wanted.setdefault(top, set()).add(rest)
    found = {}
    for top, modules in wanted.items():
        folder = next((folder for entry in entries if _may_be_package(folder := Path(entry, top))), None)
        installed = None if folder is None else PathFinder.find_spec(top, sys.path)
        if folder is None or installed is None or installed.loader is None or is_own(installed):
            continue
        places = [*map(Path, installed.submodule_search_locations or ())]
        there = {module for module in modules if _has_module([folder], module)}
        if Path(file).is_relative_to(folder):
            itself = ".".join(Path(file).relative_to(folder).with_suffix("").parts)
            is_meant = bool(there) and not _has_module(places, itself)
        else:
            is_meant = any(not _has_module(places, module) for module in there)
        if is_meant:
            found[top] = folder
    return found


def _may_be_package(folder: Path) -> bool:
    return folder.is_dir() and not (folder / "__init__.py").exists()


def _has_module(folders: Sequence[Path], module: str) -> bool:
    """Whether a package in ``folders`` has the submodule ``module``."""
    places = [folder.joinpath(*module.split(".")) for folder in folders]
    return any(place.is_dir() or place.with_name(f"{place.name}.py").is_file() for place in places)
