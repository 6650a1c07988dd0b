"""The settings of a project: the table ``[tool.fx-lsp]`` of the nearest ``pyproject.toml`` above a file."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fx_lsp.settings.settings import Fields, Settings, usable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = "pyproject.toml"

_TABLE = re.compile(r"\s*\[\s*tool\s*\.\s*[\"']?fx-lsp[\"']?\s*(?:\.\s*[\"']?(?P<key>[\w-]+)[\"']?\s*)?\]")
_ANY_TABLE = re.compile(r"\s*\[")
_KEY = re.compile(r"\s*[\"']?(?P<key>[\w-]+)[\"']?\s*[.=]")
_LINE = re.compile(r"at line (\d+)")
"""The part of ``tomllib``'s error message that names the line."""


@dataclass(frozen=True)
class SettingMistake:
    """A setting that cannot be used, and why, in one sentence."""

    file: str
    reason: str
    line: int
    """From 1."""


@dataclass(frozen=True)
class Project:
    """The settings of one ``pyproject.toml``; a setting that cannot be used keeps its default."""

    settings: Settings = dataclasses.field(default_factory=Settings)
    """The file patterns in these settings are absolute."""
    mistakes: tuple[SettingMistake, ...] = ()


_NO_PROJECT = Project()


def project_of(path: str) -> Project:
    """The project of the file ``path``: the nearest ``pyproject.toml`` above it that has the table, or the defaults."""
    for file in _candidates(os.path.dirname(path)):  # noqa: PTH120 (this is asked many times for each edit)
        with contextlib.suppress(OSError):
            if (project := _read(file, os.stat(file).st_mtime_ns)) is not None:  # noqa: PTH116 (likewise)
                return project
    return _NO_PROJECT


@functools.lru_cache(maxsize=256)
def _candidates(folder: str) -> tuple[str, ...]:
    """The files that may have the settings of what is in a folder, the nearest first."""
    return tuple(str(above / FILE) for above in (Path(folder), *Path(folder).parents))


def project_fields() -> Fields:
    """The settings that a project can have, by their names in a ``pyproject.toml``."""
    fields = dataclasses.fields(Settings)
    return {field.name.replace("_", "-"): field for field in fields if field.metadata["project"]}


@functools.lru_cache(maxsize=256)
def _read(file: str, modified: int) -> Project | None:
    """The project of ``file``; None if it has no ``[tool.fx-lsp]``. Cached by ``modified``, its modification time."""
    text = Path(file).read_text(encoding="utf-8", errors="replace")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if not any(map(_TABLE.match, text.splitlines())):
            return Project()
        line = _LINE.search(str(error))
        return Project(
            mistakes=(SettingMistake(file, f"This is not valid TOML: {error}.", int(line[1]) if line else 1),)
        )
    tool = content.get("tool")
    table = tool.get("fx-lsp") if isinstance(tool, Mapping) else None
    if not isinstance(table, Mapping):
        return None
    chosen, problems = usable(table, project_fields())
    folder = Path(file).parent
    if "interpreter" in chosen:
        chosen["interpreter"] = _beside(folder, *chosen["interpreter"])
    mistakes = (SettingMistake(file, f"`{name}` {problem}.", _line_of(text, name)) for name, problem in problems)
    return Project(Settings(**chosen).anchored(str(folder)), tuple(mistakes))


def _beside(folder: Path, executable: str = "", *arguments: str) -> tuple[str, ...]:
    """The command; an executable given as a relative path with a directory is resolved against ``folder``."""
    if len(Path(executable).parts) > 1 and not executable.startswith(("~", "$")):
        executable = str(folder / executable)
    return (executable, *arguments) if executable else ()


def _line_of(text: str, name: str) -> int:
    """The line of a setting, from 1; the line of the table's header if the setting is not found by its name."""
    return next(_lines_of(text, name), next(_lines_of(text, None), 1))


def _lines_of(text: str, name: str | None) -> Iterator[int]:
    """The lines that set ``name`` in ``[tool.fx-lsp]`` or begin a table for it; if ``name`` is None, its header."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if head := _TABLE.match(line):
            inside = head["key"] is None
            if head["key"] == name:
                yield number
        elif _ANY_TABLE.match(line):
            inside = False
        elif inside and (key := _KEY.match(line)) and key["key"] == name:
            yield number
