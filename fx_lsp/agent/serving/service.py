"""The agent's main loop: it receives requests, lets other processes do the work, and answers; it runs no user code."""

from __future__ import annotations

import abc
import sys
import tempfile
from pathlib import Path
from typing import Generic, TypeVar

from fx_lsp.agent.messages import Cancel, Heartbeat, Message, Preload, Prove, Release, Trace
from fx_lsp.agent.processes.children import ForkedChildren, adopt_orphans
from fx_lsp.agent.processes.framing import Frames, write_all
from fx_lsp.agent.processes.scratch_folder import remove
from fx_lsp.agent.sandbox.audit_guard import GUARD
from fx_lsp.agent.sandbox.confinement import missing_protections
from fx_lsp.agent.serving.worker_pool import WorkerPool
from fx_lsp.agent.wire import decode, encode

R = TypeVar("R")
"""The class of the service's record of a request that is being worked on."""


class Service(abc.ABC, Generic[R]):
    """Answers the server's requests concurrently."""

    def __init__(self, read: int, write: int, processes: ForkedChildren | WorkerPool) -> None:
        self._read = read
        self._write = write
        self._processes = processes
        self._frames = Frames()
        self._requests: dict[int, R] = {}
        self._serving = True
        self._builtin = frozenset(name.partition(".")[0] for name in sys.modules) | sys.stdlib_module_names

    def serve(self) -> None:
        """Serve until the server hangs up; then leave no process behind."""
        for sentence in missing_protections():
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
            remove(Path(tempfile.gettempdir()))  # if the server was killed, nobody else removes it

    def _receive(self, data: bytes) -> None:
        self._serving = bool(data)
        for body in self._frames.feed(data):
            message = decode(body)
            if isinstance(message, Trace):
                self._start_trace(message)
            elif isinstance(message, Prove):
                self._start_proof(message)
            elif isinstance(message, Preload):
                self._preload(message)
            elif isinstance(message, Release):
                self._release(message.file)
            elif isinstance(message, Cancel):
                self._cancel(message.id)

    def _send(self, message: Message) -> None:
        write_all(self._write, encode(message))

    def _send_heartbeats(self) -> None:
        for number in self._requests:
            self._send(Heartbeat(number))

    @abc.abstractmethod
    def _start_trace(self, trace: Trace) -> None: ...

    @abc.abstractmethod
    def _start_proof(self, message: Prove) -> None: ...

    @abc.abstractmethod
    def _preload(self, message: Preload) -> None:
        """Import third-party modules once there is nothing more urgent to do."""

    def _release(self, file: str) -> None:
        """End the processes that were kept for ``file``."""

    @abc.abstractmethod
    def _cancel(self, number: int) -> None:
        """End the work on the request with this number, if there is one."""

    @abc.abstractmethod
    def _proceed(self) -> None:
        """Continue work that may have been waiting for the event that `serve` has just handled."""
