"""Digests of files and folders, computed again only when the file or folder has changed on disk."""

from __future__ import annotations

import functools
import hashlib
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from fx_lsp.locations import SERVER_FOLDER


def digest(*parts: str | bytes) -> str:
    """The SHA-256 of several parts, in hexadecimal; parts that are divided differently have different digests."""
    whole = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        whole.update(len(content).to_bytes(8, "big") + content)
    return whole.hexdigest()


LARGEST = 1 << 28
"""The size in bytes above which a file is not read."""


def file_digest(path: str) -> str:
    """The digest of a file's bytes; empty if it cannot be read, is not a regular file, or is too large."""
    try:
        status = os.stat(path)  # noqa: PTH116 (a hot path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            return ""
        return _file_digest(path, status.st_mtime_ns, status.st_size, status.st_ino)
    except OSError:
        return ""


def modules_digest(folder: str) -> str:
    """The digest of the names of a folder's modules and possible packages; empty if the folder cannot be read."""
    try:
        return _modules_digest(folder, os.stat(folder).st_mtime_ns)  # noqa: PTH116
    except OSError:
        return ""


def sources_digest(folders: Iterable[Path]) -> str:
    """The digest of the paths and contents of all Python files in some folders."""
    files = [(folder, file) for folder in folders for file in sorted(folder.rglob("*.py"))]
    return digest(*(part for folder, file in files for part in (str(file.relative_to(folder)), file.read_bytes())))


@functools.cache
def server_digest() -> str:
    """The digest of the server's own code and of its Python's version, which decides what can be parsed.

    The digest is part of cache keys, so that another version does not read what this version has stored.
    """
    return digest(sources_digest([SERVER_FOLDER]), sys.version)


@functools.lru_cache(maxsize=65536)
def _file_digest(path: str, modified: int, size: int, inode: int) -> str:
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
