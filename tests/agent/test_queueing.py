"""What a process is owed for standing in line."""

import multiprocessing
import os
import sys
import time
from collections.abc import Callable

import pytest

from fx_lsp.agent import children, limits
from fx_lsp.agent.queueing import LEAST_SECONDS, MOST, Queueing


class Told(Queueing):
    """Told by the test how long the process stood in line."""

    stood = 0.0

    def _stood(self) -> float:
        return self.stood


def test_it_is_owed_once_what_it_stood_in_line_for() -> None:
    queueing = Told(os.getpid(), 10.0)
    assert queueing.owed() == 0
    queueing.stood = 2.0
    assert queueing.owed() == 2.0
    assert queueing.owed() == 0
    queueing.stood += LEAST_SECONDS / 2
    assert queueing.owed() == 0


def test_what_it_stood_in_line_for_before_does_not_count() -> None:
    class Before(Told):
        stood = 5.0

    queueing = Before(os.getpid(), 10.0)
    assert queueing.owed() == 0
    queueing.stood = 6.0
    assert queueing.owed() == 1.0


def test_it_is_not_owed_without_end() -> None:
    queueing = Told(os.getpid(), 1.0)
    queueing.stood = 100.0
    assert queueing.owed() == MOST - 1
    queueing.stood = 200.0
    assert queueing.owed() == 0


def test_a_process_that_is_not_there_is_owed_nothing() -> None:
    assert Queueing(2**22 + 1, 1.0).owed() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_two_processes_on_one_processor_stand_in_line() -> None:
    processor = {min(os.sched_getaffinity(0))}
    burning = [multiprocessing.get_context("fork").Process(target=burn, args=(processor,)) for _ in range(2)]
    for process in burning:
        process.start()
    queueings = [Queueing(process.pid or 0, 10.0) for process in burning]
    try:
        while not all(queueing.owed() for queueing in queueings):
            os.sched_yield()
    finally:
        for process in burning:
            process.kill()
            process.join()


class OwedOnce(Queueing):
    """Owes a minute when it is first asked."""

    asked = 0

    def owed(self) -> float:
        type(self).asked += 1
        return 60.0 if self.asked == 1 else 0.0


def status_of(work: Callable[[], None]) -> int | None:
    """The exit status of a process that does ``work``."""
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join()
    return process.exitcode


def test_a_time_limit_is_put_off() -> None:
    def work() -> None:
        vars(limits)["Queueing"] = OwedOnce
        with limits.time_limit(0.01, lambda frame: os._exit(1)):
            while not OwedOnce.asked:
                pass
        os._exit(7)

    assert status_of(work) == 7


def test_a_child_that_stood_in_line_is_given_more_time_and_who_waits_is_told() -> None:
    def work() -> None:
        vars(children)["Queueing"] = OwedOnce
        wait, go_on = (os.fdopen(end, mode) for end, mode in zip(os.pipe(), "rw", strict=True))
        brood = children.Brood(waiting=lambda: print("go on", file=go_on, flush=True))
        ended: list[children.Child] = []
        brood.fork(lambda emit: wait.readline() and None, seconds=0.01, hear=print, gone=ended.append)
        while brood:
            brood.wait()
        os._exit(7 if OwedOnce.asked and not ended[0].overdue and ended[0].status == 0 else 1)

    assert status_of(work) == 7


def burn(processor: set[int]) -> None:
    os.sched_setaffinity(0, processor)
    while time.monotonic():
        pass
