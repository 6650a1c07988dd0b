"""The agent's main loop: it hears requests, has processes do the work, and answers. It runs none of the user's code."""

from __future__ import annotations

import abc
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from .children import adopt_orphans
from .confinement import missing
from .frames import Frames, write_all
from .guard import GUARD
from .messages import Cancel, Message, Prove, Trace, Waiting
from .scratch import remove
from .wire import decode, encode


class Processes(Protocol):
    """Those that do the work, and the loop that attends to them."""

    def listen(self, fd: int, heard: Callable[[bytes], object]) -> None:
        """Call ``heard`` with what is read from ``fd``, with nothing at its end."""

    def wait(self) -> None:
        """Sleep until something happens, and deal with it."""

    def kill_all(self) -> None:
        """End all of them."""


R = TypeVar("R")
"""What is known of a request that is being worked on."""


class Service(abc.ABC, Generic[R]):
    """Answers the server's requests, as many at a time as there are."""

    def __init__(self, read: int, write: int, processes: Processes) -> None:
        self._read = read
        self._write = write
        self._processes = processes
        self._frames = Frames()
        self._requests: dict[int, R] = {}
        self._serving = True
        self._builtin = frozenset(name.partition(".")[0] for name in sys.modules) | sys.stdlib_module_names

    def serve(self) -> None:
        """Serve until the server hangs up; then leave no process behind."""
        for sentence in missing():
            sys.stderr.write(f"{sentence}\n")
        adopt_orphans()
        GUARD.install()
        self._processes.listen(self._read, self._receive)
        try:
            while self._serving:
                self._processes.wait()
                self._proceed()
        finally:
            self._processes.kill_all()
            remove(Path(tempfile.gettempdir()))  # where the server was ended, nobody else does

    def _receive(self, data: bytes) -> None:
        self._serving = bool(data)
        for body in self._frames.feed(data):
            message = decode(body)
            if isinstance(message, Trace):
                self._start_trace(message)
            elif isinstance(message, Prove):
                self._start_proof(message)
            elif isinstance(message, Cancel):
                self._cancel(message.id)

    def _send(self, message: Message) -> None:
        write_all(self._write, encode(message))

    def _ask_for_patience(self) -> None:
        for number in self._requests:
            self._send(Waiting(number))

    @abc.abstractmethod
    def _start_trace(self, trace: Trace) -> None: ...

    @abc.abstractmethod
    def _start_proof(self, message: Prove) -> None: ...

    @abc.abstractmethod
    def _cancel(self, number: int) -> None:
        """End the work on the request of this number, if there is any."""

    @abc.abstractmethod
    def _proceed(self) -> None:
        """Something has happened: go on with what waits for it."""
