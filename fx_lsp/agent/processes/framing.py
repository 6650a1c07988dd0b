"""Length-prefixed frames on a pipe: splits a stream of bytes into frames, and writes whole frames."""

from __future__ import annotations

import os
from collections.abc import Iterator

from fx_lsp.agent.wire import HEADER, body_length

CHUNK = 1 << 16
"""How many bytes to read from a pipe at a time."""


class Frames:
    """Splits a stream of bytes into frames; a frame that a dying writer left unfinished is never returned."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bodies of the frames that ``data`` completes. Raises ValueError if the stream is not made of frames."""
        self._buffer += data
        while len(self._buffer) >= HEADER.size:
            end = HEADER.size + body_length(bytes(self._buffer[: HEADER.size]))
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[HEADER.size : end])
            del self._buffer[:end]
            yield body


def write_all(fd: int, data: bytes) -> None:
    """Write every byte of ``data``, waiting for the reader if the pipe is full."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
