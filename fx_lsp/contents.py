"""Digests of what files and folders hold, each computed anew only when it has changed on disk."""

from __future__ import annotations

import functools
import hashlib
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path


def digest(*parts: str | bytes) -> str:
    """SHA-256 of several pieces, in hexadecimal; where one ends and the next begins matters."""
    whole = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        whole.update(len(content).to_bytes(8, "big") + content)
    return whole.hexdigest()


LARGEST = 1 << 28
"""Bytes of a file that is read for that."""


def file_digest(path: str) -> str:
    """That of a file's bytes; empty where it can't be read, or is no usual file, or a very large one."""
    try:
        status = os.stat(path)  # noqa: PTH116 (a hot path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            return ""
        return _file_digest(path, status.st_mtime_ns, status.st_size, status.st_ino)
    except OSError:
        return ""


def modules_digest(folder: str) -> str:
    """That of the names of the modules and packages that a folder may have; empty where it can't be read."""
    try:
        return _modules_digest(folder, os.stat(folder).st_mtime_ns)  # noqa: PTH116
    except OSError:
        return ""


def sources_digest(folders: Iterable[Path]) -> str:
    """That of all Python files in some folders, by their paths there."""
    files = [(folder, file) for folder in folders for file in sorted(folder.rglob("*.py"))]
    return digest(*(part for folder, file in files for part in (str(file.relative_to(folder)), file.read_bytes())))


@functools.cache
def server_code() -> str:
    """That of the server's own code and of its Python's version, which decides what can be parsed: by it, what was kept
    on disk is told from what others have kept."""
    return digest(sources_digest([Path(__file__).parent]), sys.version)


@functools.lru_cache(maxsize=65536)
def _file_digest(path: str, modified: int, size: int, inode: int) -> str:
    """Of the file as it was when it was last ``modified``."""
    return digest(Path(path).read_bytes())


@functools.lru_cache(maxsize=4096)
def _modules_digest(folder: str, modified: int) -> str:
    with os.scandir(folder) as entries:
        names = [
            entry.name
            for entry in entries
            if entry.name.endswith(".py") or (not entry.name.startswith((".", "__pycache__")) and entry.is_dir())
        ]
    return digest(*sorted(names))
