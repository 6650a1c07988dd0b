"""Looks in the workspace for files that a constructor names or takes, and that are not in the current folder.

A model that is described by ``cfg="net.yaml"`` is often built in a folder other than the one that holds the file.
"""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import TypeVar

from fx_lsp.agent.traceback_steps import causes

T = TypeVar("T")

MOST = 4
"""The maximum number of missing files that are linked for one constructor."""

MOST_SEARCHED = 20_000
"""The maximum number of files of the workspace whose names are compared."""

_FOREIGN = frozenset({"node_modules", "site-packages", "dist-packages"})
"""Folders of installed packages."""

_SUFFIXES = frozenset({".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".txt", ".csv"})
"""The kinds of files that describe a model."""

_TABLES = frozenset({".txt", ".csv"})
"""Of these, those that only a program's own name for them distinguishes from other texts."""

_CONFIGURATION = frozenset({"cfg", "config", "conf"})
_NO_SUBJECT = frozenset({"path", "file", "filename", "name"})


def with_named_files(make: Callable[[], T], folders: Sequence[str]) -> T:
    """Return what ``make`` returns. If it fails for lack of a file that ``folders`` have, link the file and call again.

    The current folder is a scratch folder. Each file is linked there under the name that the constructor used. If no
    call succeeds, raises the first error of ``make``.
    """
    missing: Exception | None = None
    for _ in range(MOST + 1):
        try:
            return make()
        except Exception as error:
            if _link(error, folders):
                missing = missing or error
                continue
            if missing is None:
                raise
            break
    assert missing is not None
    raise missing  # if a linked file did not help, it was a different file of that name


def configuration_files(parameter: str, folders: Sequence[str], near: str) -> list[str]:
    """The paths of at most `MOST` files below ``folders`` that a ``parameter`` such as ``config_path`` may take.

    Those whose paths have a word of the parameter's name come first, then those that are closer to the file ``near``,
    then smaller ones, which are likely to describe smaller models.
    """
    words = set(parameter.lower().split("_")) - _NO_SUBJECT
    words |= _CONFIGURATION if words & _CONFIGURATION else set()
    found = []
    for path in itertools.islice(workspace_files(folders), MOST_SEARCHED):
        if path.suffix.lower() in _SUFFIXES - _TABLES:
            is_foreign = not any(word in path.as_posix().lower() for word in words)
            found.append((is_foreign, -common_start(path, Path(near)), path.stat().st_size, str(path)))
    return [path for *_, path in sorted(found)[:MOST]]


def _link(error: BaseException, folders: Sequence[str]) -> bool:
    """Link the file that ``error`` says is missing.

    Returns False if the error is about something else, or if no file below ``folders`` matches better than all others.
    """
    lacking = [cause for cause in causes(error) if isinstance(cause, OSError) and cause.errno == errno.ENOENT]
    asked = next((str(cause.filename) for cause in lacking if isinstance(cause.filename, (str, os.PathLike))), None)
    if asked is None:
        return False
    wanted = PurePath(asked)
    if wanted.suffix.lower() not in _SUFFIXES or wanted.is_absolute() or ".." in wanted.parts:
        return False
    found = _best_match(wanted, folders)
    if found is None:
        return False
    try:
        Path(wanted).parent.mkdir(parents=True, exist_ok=True)
        Path(wanted).symlink_to(found)
    except FileExistsError:  # the attempt at another target, which shares the folder, was faster
        return True
    except OSError:
        return False
    return True


def _best_match(wanted: PurePath, folders: Sequence[str]) -> Path | None:
    """The file of this name whose path ends with the most parts of ``wanted``; None if several paths tie."""
    files = itertools.islice(workspace_files(folders), MOST_SEARCHED)
    matches = sorted({(_common_end(wanted, path), path) for path in files if path.name == wanted.name})
    if not matches or (len(matches) > 1 and matches[-1][0] == matches[-2][0]):
        return None
    return matches[-1][1]


def _common_end(one: PurePath, other: PurePath) -> int:
    """How many parts two paths have in common at their ends."""
    pairs = zip(reversed(one.parts), reversed(other.parts), strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one.parts), len(other.parts)))


def common_start(one: PurePath, other: PurePath) -> int:
    """How many parts two paths have in common at their starts."""
    pairs = zip(one.parts, other.parts, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one.parts), len(other.parts)))


def workspace_files(folders: Sequence[str]) -> Iterator[Path]:
    """Yield the workspace's own files below ``folders``; installed packages and hidden folders are skipped."""
    for top in folders:
        for folder, inner, names in os.walk(top):
            own = [] if "pyvenv.cfg" in names else inner
            inner[:] = sorted(name for name in own if not name.startswith(".") and name not in _FOREIGN)
            yield from (Path(folder, name) for name in sorted(names))
