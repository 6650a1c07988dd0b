"""Work that is done while nothing is traced: it waits for quiet, and gives way to the next trace."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from fx_lsp.analysis import Analysis

log = logging.getLogger(__name__)


class IdleWork:
    """Runs ``work`` while ``analysis`` traces nothing. Belongs to one event loop.

    ``work`` may be cancelled at any await; when it is run again it goes on with what it has left.
    """

    def __init__(
        self, name: str, analysis: Analysis, work: Callable[[], Coroutine[Any, Any, None]], quiet_seconds: float
    ) -> None:
        """``name`` says in the log what failed; nothing is traced for ``quiet_seconds`` before the work begins."""
        self._name = name
        self._analysis = analysis
        self._work = work
        self._quiet_seconds = quiet_seconds
        self._timer: asyncio.TimerHandle | None = None
        self._worker: asyncio.Task[None] | None = None

    def begin(self, *, at_once: bool = False) -> None:
        """Start once it is quiet; ``at_once``: without waiting, unless something is traced."""
        if self._timer:
            self._timer.cancel()
        seconds = 0.0 if at_once else self._quiet_seconds
        self._timer = asyncio.get_running_loop().call_later(seconds, self._start)

    def pause(self) -> None:
        """Stop until the next `begin`."""
        if self._timer:
            self._timer.cancel()
        if self._worker:
            self._worker.cancel()
            self._worker = None

    async def close(self) -> None:
        """Stop all work, and wait until it has stopped."""
        worker = self._worker
        self.pause()
        if worker:
            await asyncio.gather(worker, return_exceptions=True)

    def _start(self) -> None:
        if any(map(self._analysis.is_tracing, self._analysis.results)):
            self.begin()
        elif self._worker is None or self._worker.done():
            self._worker = asyncio.get_running_loop().create_task(self._work())
            self._worker.add_done_callback(self._log_error)

    def _log_error(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            log.error("%s failed", self._name, exc_info=error)
