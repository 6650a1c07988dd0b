"""Whether an interpreter has torch, seen in its folders of packages.

Nothing is run: not before the user trusts the workspace, and starting several Pythons would take seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from fx_lsp.interpreters.environment_layout import import_folders
from fx_lsp.interpreters.found_files import sensible, small_text

_VERSION = re.compile(r"torch-(\d+)\.(\d+)")
_EDITABLE = re.compile(r'"editable"\s*:\s*true')


def has_torch(python: Path) -> bool:
    """Whether ``import torch`` would find a package."""
    return any(map(_holds_torch, sensible(_searched(python), f"a folder of {python}")))


def torch_version(python: Path) -> tuple[int, int] | None:
    """The version of torch that was installed as a package, e.g. ``(2, 13)``; None if that can't be seen."""
    for folder in sensible(_searched(python), f"a folder of {python}"):
        for told in _listed(folder, "torch-*.dist-info"):
            if found := _VERSION.match(told.name):
                return int(found[1]), int(found[2])
    return None


def _searched(python: Path) -> Iterator[Path]:
    """The folders of packages, and after each those that its ``.pth`` files add."""
    for folder in filter(Path.is_dir, import_folders(python)):
        yield folder
        for file in sorted(_listed(folder, "*.pth")):
            yield from _added_by(file)


def _added_by(pth: Path) -> Iterator[Path]:
    """The folders that the lines of a ``.pth`` file name. Lines that Python would run are not run."""
    for line in small_text(pth).splitlines():
        if line.strip() and not line.startswith(("#", "import ", "import\t")) and "\0" not in line:
            yield pth.parent / line.strip()


def _holds_torch(folder: Path) -> bool:
    return any(sensible(_signs_of_torch(folder), f"the folder {folder}"))


def _signs_of_torch(folder: Path) -> Iterator[bool]:
    yield (folder / "torch" / "__init__.py").is_file()
    # A package that was built in its own checkout leaves only its description here, which a removed one may leave too.
    yield any(_EDITABLE.search(small_text(told / "direct_url.json")) for told in _listed(folder, "torch-*.dist-info"))
    yield (folder / "torch.egg-link").is_file()


def _listed(folder: Path, pattern: str) -> list[Path]:
    """What matches the pattern in a folder; nothing if the folder can't be read."""
    try:
        return list(folder.glob(pattern))
    except OSError:
        return []
