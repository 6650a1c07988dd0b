"""Shows progress in the client while something is being traced, if tracing takes longer than a moment."""

from __future__ import annotations

import asyncio
import itertools
import logging

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.progress import Progress

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 1.0
"""Progress is shown only for work that takes longer than this."""


class TracingProgress:
    """Shows one progress at a time, for all agents together. Must be used from one event loop."""

    def __init__(self, client: Progress) -> None:
        self._client = client
        self._working: set[object] = set()
        self._numbers = itertools.count(1)
        self._task: asyncio.Task[None] | None = None

    def note(self, agent: object, working: bool) -> None:
        """Note that ``agent`` has started or stopped working."""
        (self._working.add if working else self._working.discard)(agent)
        if self._working and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._show())
        elif not self._working and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _show(self) -> None:
        """Show progress until this task is cancelled; show nothing if that happens within `PATIENCE_SECONDS`."""
        await asyncio.sleep(PATIENCE_SECONDS)
        token = f"fx-lsp/{next(self._numbers)}"
        try:
            await self._client.create_async(token)
        except JsonRpcException as error:
            log.warning("the client cannot show progress: %s", error)
            return
        self._client.begin(token, types.WorkDoneProgressBegin("Tracing", cancellable=True))
        try:
            await asyncio.Event().wait()
        finally:
            self._client.end(token, types.WorkDoneProgressEnd())
            self._client.tokens.pop(token, None)
