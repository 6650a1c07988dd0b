"""What a project says of itself: the table ``[tool.fx-lsp]`` of the nearest ``pyproject.toml`` above a file."""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fx_lsp.config import Settings, problem_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = "pyproject.toml"

_TABLE = re.compile(r"\s*\[\s*tool\s*\.\s*[\"']?fx-lsp[\"']?\s*(?:\.\s*[\"']?(?P<key>[\w-]+)[\"']?\s*)?\]")
_ANY_TABLE = re.compile(r"\s*\[")
_KEY = re.compile(r"\s*[\"']?(?P<key>[\w-]+)[\"']?\s*[.=]")
_LINE = re.compile(r"at line (\d+)")
"""How a TOML reader says where it stopped."""


@dataclass(frozen=True)
class Mistake:
    """A setting that can't be used, and why, in one sentence."""

    file: str
    reason: str
    line: int
    """From 1."""


@dataclass(frozen=True)
class Project:
    """The settings of one ``pyproject.toml``; what is wrong there has its default."""

    settings: Settings = dataclasses.field(default_factory=Settings)
    """Their patterns say which folder they are relative to."""
    mistakes: tuple[Mistake, ...] = ()


def project_of(path: str) -> Project:
    """The project that the file ``path`` belongs to: that of the nearest ``pyproject.toml`` that has the table."""
    for folder in Path(path).parents:
        if (project := project_in(folder)) is not None:
            return project
    return Project()


def project_in(folder: Path) -> Project | None:
    """What the ``pyproject.toml`` in ``folder`` says; None where there is none, or none with the table."""
    file = folder / FILE
    try:
        return _read(str(file), file.stat().st_mtime_ns)
    except OSError:
        return None


def project_names() -> dict[str, dataclasses.Field[Any]]:
    """By the name that it has in a ``pyproject.toml``, each setting that a project can make."""
    fields = dataclasses.fields(Settings)
    return {field.name.replace("_", "-"): field for field in fields if field.metadata["project"]}


@functools.lru_cache(maxsize=256)
def _read(file: str, modified: int) -> Project | None:
    """The project of ``file`` as it was when it was last ``modified``."""
    text = Path(file).read_text(encoding="utf-8", errors="replace")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return Project(mistakes=_unreadable(file, text, str(error)))
    tool = content.get("tool")
    table = tool.get("fx-lsp") if isinstance(tool, Mapping) else None
    return _project(file, text, table) if isinstance(table, Mapping) else None


def _unreadable(file: str, text: str, error: str) -> tuple[Mistake, ...]:
    """What is wrong with a file that is no TOML, if it is one for us to tell of."""
    if not any(map(_TABLE.match, text.splitlines())):
        return ()
    line = _LINE.search(error)
    return (Mistake(file, f"This can't be read as TOML: {error}.", int(line[1]) if line else 1),)


def _project(file: str, text: str, table: Mapping[str, Any]) -> Project:
    settings = project_names()
    chosen: dict[str, Any] = {}
    mistakes = []
    for name, value in table.items():
        if name not in settings:
            reason = f"`{name}` is no setting; there are {_listed(settings)}."
            mistakes.append(Mistake(file, reason, _line_of(text, name)))
        elif problem := problem_of(value, settings[name]):
            mistakes.append(Mistake(file, f"`{name}` {problem}.", _line_of(text, name)))
        else:
            chosen[settings[name].name] = tuple(value) if isinstance(value, list) else value
    folder = Path(file).parent
    if "interpreter" in chosen:
        chosen["interpreter"] = _beside(folder, *chosen["interpreter"])
    return Project(Settings(**chosen).anchored(str(folder)), tuple(mistakes))


def _beside(folder: Path, executable: str = "", *arguments: str) -> tuple[str, ...]:
    """A command whose executable, if it is a relative path with a directory, is relative to ``folder``."""
    if len(Path(executable).parts) > 1 and not executable.startswith(("~", "$")):
        executable = str(folder / executable)
    return (executable, *arguments) if executable else ()


def _line_of(text: str, name: str) -> int:
    """The line of a setting, from 1; that of the table's head where it is written in a way of its own."""
    return next(_lines_of(text, name), next(_lines_of(text, None), 1))


def _lines_of(text: str, name: str | None) -> Iterator[int]:
    """The lines that set ``name`` in our table or are the head of its own; for None, the head of our table."""
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


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(f"`{name}`" for name in names)
