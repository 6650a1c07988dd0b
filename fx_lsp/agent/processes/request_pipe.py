"""Requests to a process that waits for them: a pipe that neither side can be kept waiting by."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from os import _exit
from typing import Any

from fx_lsp.agent.processes.children import ForkedChildren
from fx_lsp.agent.processes.framing import CHUNK, Frames
from fx_lsp.agent.wire import decode, encode

CAPACITY = 1 << 20
"""How many bytes a pipe holds, where that can be set; a longer request is not sent."""


class RequestWriter:
    """Sends requests to a child that is forked after this was made."""

    def __init__(self, children: ForkedChildren) -> None:
        """``children`` start the child; no other child gets the pipe's writing end."""
        self._children = children
        self.reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with contextlib.suppress(OSError):  # the user has too many large pipes
                fcntl.fcntl(self._writer, fcntl.F_SETPIPE_SZ, CAPACITY)
        children.keep_private(self._writer)

    def close_reader(self) -> None:
        """Close the child's end in this process, once the child has it."""
        os.close(self.reader)

    def send(self, request: object) -> bool:
        """Send a request; False if the child does not take it, after which it can't get any other."""
        data = encode(request)
        try:
            return os.write(self._writer, data) == len(data)
        except OSError:  # it is full, or the child is dead
            return False

    def close(self) -> None:
        """Close the pipe; the child ends when it has read everything."""
        self._children.close_private(self._writer)


class RequestReader:
    """Receives requests in the child."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._frames = Frames()

    def wait(self) -> Any:
        """The next request; waits for it, and ends this process if there will be none."""
        requests: list[Any] = []
        while not requests:
            if not (data := os.read(self.fd, CHUNK)):
                _exit(0)
            requests += self.feed(data)
        return requests[0]

    def feed(self, data: bytes) -> Iterator[Any]:
        """The requests that ``data`` completes."""
        return map(decode, self._frames.feed(data))
