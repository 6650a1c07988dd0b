"""The cases are checked in processes of their own, so that what ends one of these costs no more than a case."""

from __future__ import annotations

import multiprocessing
import queue
import resource
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection

import torch

from tests.core.sweep.cases import Case
from tests.core.sweep.comparison import Result, check

CASES_OF_A_PROCESS = 100
"""After these it makes way for a new one: what the libraries keep of each model is given back."""
MOST_MEMORY = 7 * 2**30
"""Bytes of address space for a process; a model that needs more counts as not built."""

_CONTEXT = multiprocessing.get_context("spawn")


def checked(cases: Iterable[Case], jobs: int) -> Iterator[Result]:
    """What came of each case, in their order."""
    idle: queue.SimpleQueue[_Process] = queue.SimpleQueue()
    for _ in range(jobs):
        idle.put(_Process())

    def check_in_one(case: Case) -> Result:
        process = idle.get()
        try:
            return process.check(case)
        finally:
            idle.put(process if process.is_fit() else _Process())

    with ThreadPoolExecutor(jobs) as threads:
        yield from threads.map(check_in_one, cases)


class _Process:
    """One that checks a case after the other; it ends with the program."""

    def __init__(self) -> None:
        self.connection, theirs = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.cases = 0

    def check(self, case: Case) -> Result:
        self.cases += 1
        try:
            self.connection.send(case)
            result: Result = self.connection.recv()
        except (EOFError, ConnectionError):
            self.cases = CASES_OF_A_PROCESS
            return Result(case, "not built", "its process ended")
        return result

    def is_fit(self) -> bool:
        """Whether it can check more; if not, it is told to end."""
        if self.cases < CASES_OF_A_PROCESS:
            return True
        self.connection.close()
        return False


def _serve(connection: Connection) -> None:
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    while True:
        try:
            case = connection.recv()
        except EOFError:
            return
        connection.send(check(case))
