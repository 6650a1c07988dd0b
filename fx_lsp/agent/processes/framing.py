"""Length-prefixed frames on a pipe: cutting a stream of bytes into them, and writing one whole."""

from __future__ import annotations

import os
from collections.abc import Iterator

from fx_lsp.agent.wire import HEADER, body_length

CHUNK = 1 << 16
"""Bytes asked of a pipe at a time."""


class Frames:
    """The whole frames in a stream of bytes; what a writer that died left unfinished is never seen."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bodies that ``data`` completes. Raises ValueError where the stream is not made of frames."""
        self._buffer += data
        while len(self._buffer) >= HEADER.size:
            end = HEADER.size + body_length(bytes(self._buffer[: HEADER.size]))
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[HEADER.size : end])
            del self._buffer[:end]
            yield body


def write_all(fd: int, data: bytes) -> None:
    """Write every byte of ``data``, waiting for the reader where its pipe is full."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
