"""Work that several tasks share is done a few at a time, in order, and ends with what it is done for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from functools import partial

import pytest

from fx_lsp.analysis.worker_tasks import in_order


class _Work:
    """Jobs, each of which ends once its event is set."""

    def __init__(self, number: int) -> None:
        self.ends = [asyncio.Event() for _ in range(number)]
        self.begun: list[int] = []
        self.cancelled: list[int] = []

    async def do(self, job: int) -> int:
        self.begun.append(job)
        try:
            await self.ends[job].wait()
        except asyncio.CancelledError:
            self.cancelled.append(job)
            raise
        return job


@pytest.mark.asyncio(loop_scope="session")
async def test_the_results_come_in_the_order_of_the_calls() -> None:
    work = _Work(4)
    for job in (1, 3, 2, 0):
        work.ends[job].set()
    assert [job async for job in in_order([partial(work.do, job) for job in range(4)], 2)] == [0, 1, 2, 3]


@pytest.mark.asyncio(loop_scope="session")
async def test_only_some_calls_run_at_a_time_and_the_rest_is_cancelled_with_the_iterator() -> None:
    work = _Work(4)
    work.ends[0].set()
    async with contextlib.aclosing(in_order([partial(work.do, job) for job in range(4)], 2)) as found:
        assert await anext(found) == 0
        assert work.begun == [0, 1]
        work.ends[1].set()
        assert await anext(found) == 1
        await asyncio.sleep(0)
    assert work.cancelled == [2]


@pytest.mark.asyncio(loop_scope="session")
async def test_an_exception_ends_the_others() -> None:
    work = _Work(2)

    async def fail() -> int:
        raise ValueError("no result")

    calls: list[Callable[[], Coroutine[object, object, int]]] = [fail, partial(work.do, 1)]
    with pytest.raises(ValueError, match="no result"):
        await anext(in_order(calls, 2))
    assert work.cancelled == [1]
