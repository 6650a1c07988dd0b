"""Shares work among several tasks that run at the same time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


async def run_workers(work: Callable[[], Coroutine[object, object, None]], number: int) -> None:
    """Run ``number`` tasks of ``work``, and wait for all. If one raises an exception, the others are cancelled."""
    workers = [asyncio.create_task(work()) for _ in range(number)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


async def in_order(calls: Iterable[Callable[[], Coroutine[object, object, T]]], number: int) -> AsyncGenerator[T, None]:
    """What each of the calls returns, in their order; ``number`` of them run at a time.

    Once the iterator is closed, those that still run are cancelled.
    """
    waiting = iter(calls)
    running = deque(asyncio.create_task(call()) for call in islice(waiting, number))
    try:
        while running:
            yield await running[0]
            running.popleft()
            running.extend(asyncio.create_task(call()) for call in islice(waiting, 1))
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
