"""Work that runs while nothing is traced, and stops for the next trace."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

from fx_lsp.analysis.scheduler import Scheduler

log = logging.getLogger(__name__)


class IdleWork(ABC):
    """Runs `work` while ``scheduler`` traces nothing and is not paused. Must be used from one event loop."""

    name: str
    """The name of the work in log messages."""
    quiet_seconds: float
    """How many seconds pass without a call to `begin` or `pause` before the work begins."""
    seconds_after_edit: float = 1.5
    """How many seconds pass after an edit at least; so soon after it, another one would probably undo the work."""

    def __init__(self, scheduler: Scheduler, after: IdleWork | None = None) -> None:
        """This work waits until ``after`` is done."""
        self._scheduler = scheduler
        self._after = after
        self._timer: asyncio.TimerHandle | None = None
        self._worker: asyncio.Task[None] | None = None

    @abstractmethod
    def on_result(self, path: str, complete: bool) -> None:
        """Called when `Scheduler.on_result` is: drop what is outdated, and begin once nothing is traced."""

    @abstractmethod
    async def work(self) -> None:
        """Do all outstanding work. May be cancelled at any await; the next run continues with what is left."""

    async def do_in_turn(self, waiting: dict[str, None], do: Callable[[str], Awaitable[None]]) -> None:
        """Do the work on each of the files in ``waiting``, which is emptied; one that is interrupted waits again."""
        while waiting:
            path = next(iter(waiting))
            del waiting[path]
            try:
                await do(path)
            except asyncio.CancelledError:
                waiting[path] = None
                raise

    def begin(self, *, at_once: bool = False) -> None:
        """Start when it has been quiet for long enough or, with ``at_once``, immediately.

        In both cases, the work waits while something is traced.
        """
        if self._timer:
            self._timer.cancel()
        seconds = max(self.quiet_seconds, self.seconds_after_edit - self._scheduler.seconds_since_edit())
        self._timer = asyncio.get_running_loop().call_later(0.0 if at_once else seconds, self._start)

    def pause(self) -> None:
        """Stop until the next `begin`: something is about to be traced."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._worker:
            self._worker.cancel()
            self._worker = None

    async def close(self) -> None:
        """Stop the work, and wait until it has stopped."""
        worker = self._worker
        self.pause()
        if worker:
            await asyncio.gather(worker, return_exceptions=True)

    @property
    def is_due(self) -> bool:
        """Whether the work has begun, or is to begin."""
        return self._timer is not None or (self._worker is not None and not self._worker.done())

    def _start(self) -> None:
        self._timer = None
        if self._scheduler.paused:
            return
        if any(map(self._scheduler.is_tracing, self._scheduler.results)) or (self._after and self._after.is_due):
            self.begin()
        elif self._worker is None or self._worker.done():
            self._worker = asyncio.get_running_loop().create_task(self.work())
            self._worker.add_done_callback(self._log_error)

    def _log_error(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            log.error("%s failed", self.name, exc_info=error)
