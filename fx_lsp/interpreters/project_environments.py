"""The environments that belong to a project's folder: those in it, and those that its files name."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any

from fx_lsp.interpreters.environment_layout import python_of
from fx_lsp.interpreters.found_files import sensible, small_text
from fx_lsp.interpreters.toml_files import table
from fx_lsp.interpreters.tool_environments import of_hatch, of_pdm, of_pipenv, of_poetry

_DECIDING = frozenset(
    {".pdm-python", ".python-version", ".venv", "Pipfile", "hatch.toml", "poetry.lock", "poetry.toml", "pyrefly.toml"}
    | {"pyrightconfig.json", "pyvenv.cfg", "ty.toml", "uv.lock"}
)

DECIDING_FILES = (f"**/{{{','.join(sorted(_DECIDING))}}}", "**/site-packages/torch-*.dist-info/RECORD")
"""Globs of the files that decide which Python serves a project, apart from ``pyproject.toml``."""


def decides(path: str) -> bool:
    """Whether one of the `DECIDING_FILES` matches a path."""
    return PurePath(path).name in _DECIDING or PurePath(path).match(DECIDING_FILES[1])


def pythons_in(folder: Path) -> Iterator[tuple[Path, str]]:
    """The interpreters of a folder in the order in which they count, each with the words that say what names it."""
    for origin, find in _WAYS:
        for python in sensible(map(_python_at, find(folder)), f"{origin} in {folder}"):
            if python is not None:
                yield Path(os.path.normpath(python)), f"{origin} in {folder}"


def _python_at(found: Path) -> Path | None:
    """An interpreter, or the interpreter of an environment; None if there is none."""
    return found if found.is_file() else python_of(found)


def _in_folder(name: str) -> Callable[[Path], Iterator[Path]]:
    return lambda folder: filter(Path.is_dir, iter((folder / name,)))


def _named_by_venv_file(folder: Path) -> Iterator[Path]:
    """What a file ``.venv`` names in its first line (PEP 832)."""
    line = small_text(folder / ".venv").strip().partition("\n")[0].strip()
    if line and (folder / line).is_dir():
        yield folder / line


def _of_uv(folder: Path) -> Iterator[Path]:
    named = os.environ.get("UV_PROJECT_ENVIRONMENT")
    if named and (folder / "pyproject.toml").is_file():
        yield folder / named


def _of_pyright(folder: Path) -> Iterator[Path]:
    for said in (_pyright_file(folder / "pyrightconfig.json"), table(folder / "pyproject.toml", "tool", "pyright")):
        path, name = said.get("venvPath", "."), said.get("venv")
        if isinstance(path, str) and isinstance(name, str):
            yield folder / Path(path).expanduser() / name


def _pyright_file(file: Path) -> Any:
    """Pyright's own configuration; empty if it can't be read, e.g. because it has comments."""
    try:
        said = json.loads(small_text(file))
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _of_ty(folder: Path) -> Iterator[Path]:
    tables = (table(folder / "ty.toml", "environment"), table(folder / "pyproject.toml", "tool", "ty", "environment"))
    yield from _paths(folder, (said.get("python") for said in tables))


def _of_pyrefly(folder: Path) -> Iterator[Path]:
    for said in (table(folder / "pyrefly.toml"), table(folder / "pyproject.toml", "tool", "pyrefly")):
        yield from _paths(folder, (said.get(key) for key in ("python-interpreter-path", "python-interpreter")))


def _paths(folder: Path, values: Iterable[Any]) -> Iterator[Path]:
    """The values that are paths."""
    yield from (folder / Path(value).expanduser() for value in values if isinstance(value, str) and value)


_WAYS: tuple[tuple[str, Callable[[Path], Iterator[Path]]], ...] = (
    (".venv", _in_folder(".venv")),
    ("the file .venv", _named_by_venv_file),
    ("venv", _in_folder("venv")),
    ("env", _in_folder("env")),
    (".pixi/envs/default", _in_folder(".pixi/envs/default")),
    ("hatch's environment for the project", of_hatch),
    ("$UV_PROJECT_ENVIRONMENT for the project", _of_uv),
    ("poetry's environment for the project", of_poetry),
    ("pipenv's environment for the project", of_pipenv),
    ("pdm's environment for the project", of_pdm),
    ("what pyright's settings name", _of_pyright),
    ("what ty's settings name", _of_ty),
    ("what pyrefly's settings name", _of_pyrefly),
)
"""Words for the user, and a function that finds environments (or interpreters) of a folder."""
