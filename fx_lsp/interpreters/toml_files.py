"""Reads TOML files that belong to other tools: what can't be read or understood says nothing."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fx_lsp.interpreters.found_files import small_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def table(file: Path, *keys: str) -> Mapping[str, Any]:
    """The table that ``keys`` lead to in a file; empty if there is none."""
    try:
        found = _read(str(file), file.stat().st_mtime_ns)
    except OSError:
        return {}
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


@functools.lru_cache(maxsize=256)
def _read(file: str, modified: int) -> Any:
    """The content of ``file``, cached by its modification time."""
    try:
        return tomllib.loads(small_text(Path(file)))
    except (ValueError, RecursionError):  # not TOML, or a number of too many digits
        return {}
