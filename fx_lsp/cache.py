"""What is kept on disk from one run to the next: bytes by key, in a folder of the user's that never grows too large."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

LARGEST = 512 * 1024 * 1024
"""Bytes that a cache may take on disk; what was used longest ago goes first."""

_SHRUNK = 0.8
"""How much of that is left when some had to go."""

_DIGEST = hashlib.sha256().digest_size


def cache_folder() -> Path:
    """Where the cache is: ``$FX_LSP_CACHE``, or a folder where the system wants caches to be."""
    if chosen := os.environ.get("FX_LSP_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "fx-lsp"


class Cache:
    """A cache in ``folder``, which is made when it is first needed. Several processes may use it at a time.

    Nothing here raises: what can't be read is not there, and what can't be written is not kept.
    """

    def __init__(self, folder: Path, *, largest: int = LARGEST) -> None:
        self._folder = folder
        self._largest = largest
        self._size: int | None = None
        """Bytes on disk, as far as this process knows; None before it has looked."""

    def get(self, key: str) -> bytes | None:
        """What was put under ``key`` (hexadecimal digits); None where that is not there any more, or damaged."""
        file = self._file(key)
        try:
            content = file.read_bytes()
            digest, packed = content[:_DIGEST], content[_DIGEST:]
            if hashlib.sha256(packed).digest() != digest:
                return None
            os.utime(file)
            return zlib.decompress(packed)
        except (OSError, zlib.error):
            return None

    def put(self, key: str, content: bytes) -> None:
        """Keep ``content`` under ``key``. Whoever reads meanwhile sees all of it or what was there before."""
        packed = zlib.compress(content, 1)
        file = self._file(key)
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".")
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(hashlib.sha256(packed).digest() + packed)
                Path(temporary).replace(file)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
            self._grown(_DIGEST + len(packed))

    def clear(self) -> int:
        """Remove everything; how many bytes that were."""
        return self._remove_down_to(0)

    def _file(self, key: str) -> Path:
        return self._folder / key[:2] / key

    def _grown(self, by: int) -> None:
        if self._size is None:
            self._size = sum(size for _, size, _ in self._files())
        else:
            self._size += by
        if self._size > self._largest:
            self._remove_down_to(int(self._largest * _SHRUNK))
            self._size = None

    def _remove_down_to(self, wanted: int) -> int:
        """Remove what was used longest ago until no more than ``wanted`` bytes are left; how many bytes went."""
        files = sorted(self._files())
        excess = removed = sum(size for _, size, _ in files) - wanted
        for _, size, path in files:
            if excess <= 0:
                break
            with contextlib.suppress(OSError):
                Path(path).unlink()
                excess -= size
        return removed - excess

    def _files(self) -> Iterator[tuple[int, int, str]]:
        """When each file was last used, its size, its path."""
        for folder, _, names in os.walk(self._folder):
            for name in names:
                with contextlib.suppress(OSError):
                    status = Path(folder, name).stat()
                    yield status.st_mtime_ns, status.st_size, str(Path(folder, name))
