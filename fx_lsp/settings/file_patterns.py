"""Matching files against the glob patterns of the settings."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import PurePath


def matches(path: PurePath, pattern: str) -> bool:
    """Whether a glob pattern matches ``path``: ``**`` stands for any directories, ``*`` for any part of a name.

    A pattern that matches a directory matches everything in it. Path and pattern must both be absolute, or both be
    relative to the same folder.
    """
    wanted = [part for part in pattern.replace("\\", "/").split("/") if part not in ("", ".")]
    parts = [part for part in path.as_posix().split("/") if part]
    return bool(wanted) and _parts_match(parts, wanted)


def _parts_match(parts: list[str], wanted: list[str]) -> bool:
    if not wanted:
        return True
    if wanted[0] == "**":
        return any(_parts_match(parts[skipped:], wanted[1:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], wanted[0]) and _parts_match(parts[1:], wanted[1:])
