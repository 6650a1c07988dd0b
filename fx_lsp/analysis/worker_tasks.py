"""Shares work among several tasks that run at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine


async def run_workers(work: Callable[[], Coroutine[object, object, None]], number: int) -> None:
    """Run ``number`` tasks of ``work``, and wait for all. If one raises an exception, the others are cancelled."""
    workers = [asyncio.create_task(work()) for _ in range(number)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
