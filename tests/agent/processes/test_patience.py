"""How long a process may go on: what it computes and how long it sleeps count, but not how long it has to wait."""

import math
import multiprocessing
import os
import sys
import time
from collections.abc import Callable

import pytest

from fx_lsp.agent.processes import limits, watchdog
from fx_lsp.agent.processes.children import ForkedChildren
from fx_lsp.agent.processes.patience import MOST_SLOWDOWN, SLEEP_FACTOR, Patience, Usage
from fx_lsp.agent.processes.watchdog import ChildProcess


class FakePatience(Patience):
    """The test says what the process has done."""

    usage = Usage(0.0, 0.0, 0.0)

    def _usage(self) -> Usage:
        return self.usage


def left_after(*, computed: float = 0.0, waited: float = 0.0, slept: float = 0.0) -> float:
    """What is left of ten seconds."""
    process = FakePatience(os.getpid(), 10.0)
    process.usage = Usage(computed + waited + slept, computed, waited)
    return process.left()


def test_what_a_process_computes_is_taken_from_its_seconds() -> None:
    assert left_after(computed=4.0) == 6.0
    assert left_after(computed=10.0) == 0


def test_waiting_for_a_processor_costs_nothing() -> None:
    assert left_after(computed=4.0, waited=1000.0) >= 6.0


def test_a_process_beside_others_may_compute_for_longer() -> None:
    assert left_after(computed=12.0, waited=6.0) == 3.0
    assert left_after(computed=10.0 * MOST_SLOWDOWN, waited=1000.0) == 0


def test_a_process_may_sleep_for_several_times_as_long() -> None:
    assert left_after(slept=12.0) == 10.0
    assert left_after(slept=10.0 * SLEEP_FACTOR) == 0


def test_what_was_before_the_limit_began_does_not_count() -> None:
    class Before(FakePatience):
        usage = Usage(100.0, 50.0, 20.0)

    process = Before(os.getpid(), 10.0)
    process.usage = Usage(103.0, 53.0, 20.0)
    assert process.left() == 7.0


def test_some_processes_may_go_on_for_ever() -> None:
    assert Patience(os.getpid(), math.inf).left() == math.inf


def test_where_the_system_says_nothing_of_a_process_it_is_taken_to_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = Patience(2**22 + 1, 10.0)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 10.0 * SLEEP_FACTOR - 5.0)
    assert 4.0 < nobody.left() <= 5.0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_two_processes_on_one_processor_both_wait() -> None:
    processor = {min(os.sched_getaffinity(0))}
    burning = [multiprocessing.get_context("fork").Process(target=burn, args=(processor,)) for _ in range(2)]
    for process in burning:
        process.start()
    patience = [Patience(process.pid or 0, 10.0) for process in burning]
    try:
        while not all(one._usage().waited > 0.1 for one in patience):
            os.sched_yield()
    finally:
        for process in burning:
            process.kill()
            process.join()


class LeftOnce(Patience):
    """Has a minute left when it is first asked."""

    asked = 0

    def left(self) -> float:
        type(self).asked += 1
        return 60.0 if self.asked == 1 else 0.0


def status_of(work: Callable[[], None]) -> int | None:
    """The exit status of a process that does ``work``."""
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join()
    return process.exitcode


def test_a_time_limit_is_extended_while_something_is_left() -> None:
    def work() -> None:
        vars(limits)["Patience"] = LeftOnce
        with limits.time_limit(0.01, lambda frame: os._exit(1)):
            while not LeftOnce.asked:
                pass
        os._exit(7)

    assert status_of(work) == 7


def test_a_parent_says_that_it_attends_to_a_child_which_has_something_left() -> None:
    def work() -> None:
        vars(watchdog)["Patience"] = LeftOnce
        vars(watchdog)["HEARTBEAT_SECONDS"] = 0.05
        wait, go_on = (os.fdopen(end, mode) for end, mode in zip(os.pipe(), "rw", strict=True))

        def beat() -> None:
            if LeftOnce.asked:
                print("go on", file=go_on, flush=True)

        children = ForkedChildren(heartbeat=beat)
        ended: list[ChildProcess] = []
        children.fork(lambda emit: wait.readline() and None, seconds=0.01, hear=print, gone=ended.append)
        while children:
            children.wait()
        os._exit(7 if LeftOnce.asked and not ended[0].overdue and ended[0].status == 0 else 1)

    assert status_of(work) == 7


def burn(processor: set[int]) -> None:
    os.sched_setaffinity(0, processor)
    while time.monotonic():
        pass
