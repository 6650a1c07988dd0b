"""Where things are in an environment (of venv, virtualenv, conda or a system Python), found without running it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from fx_lsp.interpreters.found_files import small_text

_PYTHONS = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")
_VERSION = re.compile(r"3\.\d+")


def python_of(environment: Path) -> Path | None:
    """The interpreter of the environment in a folder; None if there is none."""
    return next((python for name in _PYTHONS if (python := environment / name).is_file()), None)


def import_folders(python: Path) -> Iterator[Path]:
    """The folders from which an interpreter imports installed packages. Not all of them need exist."""
    if written := os.environ.get("PYTHONPATH"):
        yield from map(Path, written.split(os.pathsep))
    configured = next((folder for folder in python.parents[:2] if (folder / "pyvenv.cfg").is_file()), None)
    if configured is None:
        yield from _installed_folders(python)
        return
    said = _pyvenv(configured / "pyvenv.cfg")
    minor = _minor(said.get("version", said.get("version_info", "")))
    yield from _package_folders(configured, minor)
    if said.get("include-system-site-packages", "").lower() == "true" and "home" in said:
        base = Path(said["home"])
        python = next((path for name in ("python3", "python", "python.exe") if (path := base / name).is_file()), base)
        yield from _installed_folders(python, minor)


def _pyvenv(file: Path) -> Mapping[str, str]:
    """The ``key = value`` lines of a ``pyvenv.cfg``."""
    pairs = (line.partition("=") for line in small_text(file).splitlines())
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


def _installed_folders(python: Path, minor: str = "") -> Iterator[Path]:
    """The package folders of a Python that is not a virtual environment; its file's name shows an empty ``minor``."""
    real = Path(os.path.realpath(python))
    prefix = real.parent if real.suffix == ".exe" else real.parent.parent
    minor = minor or _minor(real.name)
    yield from _package_folders(prefix, minor)
    yield prefix / "lib" / "python3" / "dist-packages"  # Debian's packages
    yield from _package_folders(prefix / "local", minor)  # and what pip installs there
    if not os.environ.get("PYTHONNOUSERSITE"):
        yield from _user_folders(minor)


def _package_folders(prefix: Path, minor: str) -> Iterator[Path]:
    """The package folders below a prefix; of every version if ``minor`` (e.g. ``3.11``) is empty."""
    yield prefix / "Lib" / "site-packages"
    for library in (prefix / "lib", prefix / "lib64"):
        names = [f"python{minor}", f"python{minor}t"] if minor else sorted(map(str, library.glob("python3.*")))
        for name in names:
            yield library / name / "site-packages"
            yield library / name / "dist-packages"


def _user_folders(minor: str) -> Iterator[Path]:
    """Where ``pip install --user`` puts packages."""
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or Path.home(), "Python")
        yield base / f"Python{minor.replace('.', '')}" / "site-packages"
    else:
        base = Path(os.environ.get("PYTHONUSERBASE") or Path.home() / ".local")
        yield from _package_folders(base, minor)
    if sys.platform == "darwin":
        yield Path.home() / "Library" / "Python" / minor / "lib" / "python" / "site-packages"


def _minor(text: str) -> str:
    """The minor version in a text, e.g. ``3.11`` in ``python3.11``; empty if there is none."""
    match = _VERSION.search(text)
    return match[0] if match else ""
