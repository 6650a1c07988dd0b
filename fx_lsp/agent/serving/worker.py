"""A process that is started in advance and does one job, on systems that can't fork."""

from __future__ import annotations

import faulthandler
import importlib
import os
import pickle
import sys
import tempfile
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from os import _exit
from pathlib import Path
from typing import Any

from fx_lsp.agent.processes.children import Emit, emitter, parent_death_signal, run_and_exit
from fx_lsp.agent.processes.framing import CHUNK, Frames
from fx_lsp.agent.running.compiler_delay import spare_compiler
from fx_lsp.agent.sandbox.audit_guard import GUARD
from fx_lsp.agent.wire import wire_message


@wire_message
@dataclass(frozen=True)
class ImportBegins:
    """Sent before a module is imported, so that the agent knows which import a worker died in."""

    module: str


@wire_message
@dataclass(frozen=True)
class WorkerReady:
    """Sent when all modules are imported and the job can begin."""


@wire_message
@dataclass(frozen=True)
class JobBegun:
    """Sent when the job begins: all later messages come from the job, and if the worker dies, the job is the cause."""


def run_worker(read: int, write: int, last_words: str) -> None:
    """Import the modules named on ``read``, run the job that follows, write what it emits to ``write``, and exit.

    If a signal ends the process, it writes its Python stack to the file ``last_words``.
    """
    parent_death_signal()()
    GUARD.install()
    emit = emitter(write)
    items = _ObjectReader(read)
    _import(items.next(), emit)
    emit(WorkerReady())
    job = items.next()
    spare_compiler()  # what the job imports has defined functions that would load it
    emit(JobBegun())
    if sys.platform == "linux":  # where the process dies with the agent in any case
        os.close(read)
    else:
        threading.Thread(target=_end_with, args=(read,), daemon=True).start()
    with Path(last_words).open("wb") as file:
        faulthandler.enable(file)
        run_and_exit(job, emit)


class _ObjectReader:
    """Reads the objects that come through a pipe."""

    def __init__(self, read: int) -> None:
        self._read = read
        self._frames = Frames()
        self._bodies: list[bytes] = []

    def next(self) -> Any:
        """The next object. If the pipe is closed, this process ends."""
        while not self._bodies:
            data = os.read(self._read, CHUNK)
            if not data:
                _exit(0)
            self._bodies += self._frames.feed(data)
        return pickle.loads(self._bodies.pop(0))


def _end_with(read: int) -> None:
    """End this process when the process at the other end of the pipe ends."""
    while os.read(read, CHUNK):
        pass
    _exit(1)


def _import(modules: Iterable[str], emit: Emit) -> None:
    """Import third-party modules, which must neither fail nor start a thread.

    The job's restrictions would not apply to a thread that is already running.
    """
    GUARD.close(tempfile.gettempdir())
    for name in modules:
        emit(ImportBegins(name))
        importlib.import_module(name)
        if threading.active_count() > 1:
            sys.exit(f"{name} starts threads when it is imported")
    GUARD.reopen()
