"""A cache on disk, kept from one run to the next: bytes by key, in a folder of limited size."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

LARGEST = 512 * 1024 * 1024
"""The maximum number of bytes that a cache may take on disk; the least recently used entries are removed first."""

_SHRUNK = 0.8
"""The fraction of `LARGEST` to which a cache is reduced when it is full."""

_DIGEST = hashlib.sha256().digest_size


def cache_folder() -> Path:
    """The folder of the cache: ``$FX_LSP_CACHE``, or the usual place for caches on this system."""
    if chosen := os.environ.get("FX_LSP_CACHE"):
        return Path(chosen)
    import platformdirs  # the server starts without it

    return platformdirs.user_cache_path("fx-lsp", appauthor=False, opinion=False)


class Cache:
    """A cache in ``folder``, which is created when it is first needed. Several processes may share it.

    No method raises OSError: an entry that cannot be read counts as missing, one that cannot be written is dropped.
    """

    def __init__(self, folder: Path, *, largest: int = LARGEST) -> None:
        self._folder = folder
        self._largest = largest
        self._size: int | None = None
        """Bytes on disk, as far as this process knows; None until it has looked."""

    def get(self, key: str) -> bytes | None:
        """The content stored under ``key`` (hexadecimal digits); None if it is missing or damaged."""
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
        """Store ``content`` under ``key``. A concurrent reader reads either all of ``content`` or the old content."""
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
        """Remove everything; return how many bytes that freed."""
        return self._remove_down_to(0)

    def _file(self, key: str) -> Path:
        return self._folder / key[:2] / key

    def _grown(self, by: int) -> None:
        self._size = sum(size for _, size, _ in self._files()) if self._size is None else self._size + by
        if self._size > self._largest:
            self._remove_down_to(int(self._largest * _SHRUNK))
            self._size = None

    def _remove_down_to(self, wanted: int) -> int:
        """Remove the least recently used files until at most ``wanted`` bytes are left; return how many were freed."""
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
        """For each file, when it was last used, its size and its path."""
        for folder, _, names in os.walk(self._folder):
            for name in names:
                with contextlib.suppress(OSError):
                    status = Path(folder, name).stat()
                    yield status.st_mtime_ns, status.st_size, str(Path(folder, name))
