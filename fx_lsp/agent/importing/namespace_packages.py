"""Finds folders of the workspace that are meant by the name of an installed package.

A program may be kept in a folder without an ``__init__.py`` that has the name of an installed package, perhaps of the
one that it was derived from. Python then always imports the installed one, whatever comes first on ``sys.path``.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

_IMPORTED = re.compile(r"^\s*(?:from|import)\s+(\w+)(?:\.(\w+(?:\.\w+)*))?", re.MULTILINE)
"""What a file imports: a package, and the dotted name of a module in it, if there is one."""

MOST_FILES = 300
"""How many files of such a folder are read."""


def meant_folders(
    source: str, file: str, entries: Sequence[str], is_own: Callable[[ModuleSpec], bool]
) -> dict[str, Path]:
    """The folders in ``entries`` that ``file`` imports modules from by the names of installed packages.

    A folder counts if ``file`` imports a module that it contains, and that the installed package lacks. If ``file`` is
    in the folder and imports nothing that this lacks, the same import in another of its files is enough. ``source`` is
    the text of ``file``; ``is_own`` says whether a package is the workspace's.
    """
    found = {}
    for top, modules in _imports(source).items():
        folder = next((folder for entry in entries if _may_be_package(folder := Path(entry, top))), None)
        installed = None if folder is None else PathFinder.find_spec(top, [*entries, *sys.path])
        if folder is None or installed is None or installed.loader is None or is_own(installed):
            continue
        places = [*(installed.submodule_search_locations or ())]
        texts: Iterable[str] = [source]
        if Path(file).is_relative_to(folder) and all(_contains(folder, module) for module in modules):
            texts = itertools.chain(texts, _texts(folder))
        wanted = (module for text in texts for module in _imports(text).get(top, ()) if module)
        if any(_contains(folder, module) and not _has_module(places, module) for module in wanted):
            found[top] = folder
    return found


def _imports(source: str) -> dict[str, set[str]]:
    """By package, the modules that are imported from it; an empty name for the package itself."""
    found: dict[str, set[str]] = {}
    for top, module in _IMPORTED.findall(source):
        found.setdefault(top, set()).add(module)
    return found


def _texts(folder: Path) -> Iterator[str]:
    for path in itertools.islice(sorted(folder.rglob("*.py")), MOST_FILES):
        try:
            yield path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue


def _may_be_package(folder: Path) -> bool:
    return folder.is_dir() and not (folder / "__init__.py").exists()


def _contains(folder: Path, module: str) -> bool:
    """Whether a folder of the workspace has a module, or a folder with Python files; never the folder itself."""
    place = folder.joinpath(*module.split("."))
    return bool(module) and (place.with_name(f"{place.name}.py").is_file() or any(place.glob("*.py")))


def _has_module(places: Sequence[str], module: str) -> bool:
    """Whether the package in these folders has a submodule, which may be compiled."""
    for name in module.split("."):
        spec = PathFinder.find_spec(name, [*places])
        if spec is None:
            return False
        places = [*(spec.submodule_search_locations or ())]
    return True
