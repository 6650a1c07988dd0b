"""Has an agent capture targets by other means than a trace, and keeps the results."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Collection

from fx_lsp.agent.messages import Capture, Report
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.supervisor.agent_pool import TracingAgent

TIME_FACTOR = 6
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
        traced = [item for key, item in result.traced.items() if key in keys] if result else []
        wanted = [item for item in traced if item.report and item.report.outcome not in ("skipped", "not-imported")]
        if not wanted:
            return
        snapshot = self._scheduler.documents.snapshot()
        request = self._scheduler.request(path, wanted, snapshot, TIME_FACTOR)
        # Without hosts: a part of another model is captured alone.
        targets = tuple(dataclasses.replace(target, hosts=()) for target in request.targets)
        request = dataclasses.replace(request, targets=targets, capture=capture)
        async with contextlib.aclosing(self._agent_for(path).trace(request)) as answers:
            async for answer in answers:
                if isinstance(answer, Report):
                    self._scheduler.results.keep_capture(path, capture, answer, snapshot)
                    self.on_captured(path)
