"""Has an agent capture targets by other means than a trace, and keeps the results."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Callable, Collection

from fx_lsp.agent.messages import Capture, Details, Report, Trace
from fx_lsp.analysis.results import Traced
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.documents.documents import Snapshot
from fx_lsp.supervisor.agent_pool import TracingAgent

CAPTURE_TIME_FACTOR = 6
"""The time limit of a capture, as a multiple of a trace's."""


class TargetCaptures:
    """Captures what the scheduler has traced. Must be used from one event loop."""

    def __init__(self, scheduler: Scheduler, agent_for: Callable[[str], TracingAgent]) -> None:
        """``agent_for`` returns the agent that captures the targets of a file.

        It should not be the one that traces: the machinery of torch.compile takes hundreds of MiB in each process.
        """
        self._scheduler = scheduler
        self._agent_for = agent_for
        self.on_captured: Callable[[str], None] = lambda path: None
        """Called with the path of a file when one of its targets was captured, or is judged by other captures."""

    async def capture(self, path: str, capture: Capture, keys: Collection[str]) -> None:
        """Capture the targets of a file with these ``keys``, if they exist, and keep the reports in the results."""
        result = self._scheduler.results.get(path)
        traced = result.traced.items() if result else ()
        wanted = [item for key, item in traced if key in keys and item.may_be_captured]
        if not wanted:
            return
        silent = {item.target.key for item in wanted}
        snapshot = self._scheduler.documents.snapshot()
        request = self._request(path, capture, wanted, snapshot)
        async with contextlib.aclosing(self._agent_for(path).trace(request)) as answers:
            async for answer in answers:
                if isinstance(answer, Report):
                    silent.discard(answer.target)
                    self._scheduler.results.keep_capture(path, capture, answer, snapshot)
                    self.on_captured(path)
                elif not answer.cancelled:
                    self._end(path, capture, silent)

    def described(self, path: str, capture: Capture, item: Traced, snapshot: Snapshot) -> AsyncGenerator[Details, None]:
        """Capture a target of a file again; yields the details of the graph if it can be captured."""
        return self._agent_for(path).describe(self._request(path, capture, [item], snapshot))

    def _request(self, path: str, capture: Capture, wanted: list[Traced], snapshot: Snapshot) -> Trace:
        request = self._scheduler.request(path, wanted, snapshot, CAPTURE_TIME_FACTOR)
        # Without hosts: a part of another model is captured alone.
        targets = tuple(dataclasses.replace(target, hosts=()) for target in request.targets)
        return dataclasses.replace(request, targets=targets, capture=capture)

    def _end(self, path: str, capture: Capture, silent: Collection[str]) -> None:
        """Drop what no report has confirmed or replaced; there is none on the targets with the keys ``silent``."""
        for key in silent:  # no agent could be started: an earlier report is about another text or another Python
            self._scheduler.results.drop_capture(path, key, capture)
        if self._scheduler.results.drop_kept(path) or silent:
            self.on_captured(path)
