"""What was traced, for views of it: asked for in the background, while nothing is traced, and kept with its text.

A description outlives the text that it is of: it is replaced by the next one, and until then its places move with what
is typed. It goes when its target does, or can't be traced any more. What was recorded of a target that fails is told
to who wants it, and asked for only then: what lies behind a failure rests on assumptions.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fx_lsp.agent.messages import Details, GraphNode, ModuleCall, Outcome, Report, Span, Trace
from fx_lsp.agent_pool import TracingAgent
from fx_lsp.analysis import Analysis, Traced
from fx_lsp.documents import Place, Snapshot
from fx_lsp.idle_work import IdleWork

QUIET_SECONDS = 0.15
"""How long nothing is traced before a description is asked for."""

TIME_FACTOR = 6
"""How much more time it has than a trace: beside tracing twice it runs the graph, on several inputs, and gives way."""


_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Description:
    """The details of one target, and the text that they are of."""

    title: str
    """The target's."""
    details: Details
    report: Report
    snapshot: Snapshot
    place: Place
    """Where the target stands."""

    @property
    def is_assumed(self) -> bool:
        """Whether what was traced was built with arguments that are made up."""
        return self.report.intent == "assumed"

    @functools.cached_property
    def recorded(self) -> Mapping[str, Mapping[Place, tuple[GraphNode, ...]]]:
        """By path, the expressions that became nodes, and these: one for each module that ran it."""
        return self._by_place((node.span, node) for node in self.details.nodes)

    @functools.cached_property
    def values(self) -> Mapping[str, Mapping[Place, tuple[str, ...]]]:
        """By path, the expressions whose values are known, and these: one for each time that they were evaluated.

        The value of one that calls modules is what the outermost of them returns: nodes of the others, which run in it
        without a line of the user's between (in an ``nn.Sequential``), are recorded there, too.
        """
        calls = list(_outermost(self.details.order))
        calling = {call.span for call in calls}
        told = ((node.span, node.value) for node in self.details.nodes if node.span not in calling)
        items = itertools.chain(told, ((call.span, call.value) for call in calls))
        return self._by_place((span, value) for span, value in items if value)

    def prepare(self) -> None:
        """Work out what is worked out once, lest a hover wait for it."""
        _ = self.recorded, self.values

    def _by_place(self, items: Iterable[tuple[Span | None, _Item]]) -> dict[str, dict[Place, tuple[_Item, ...]]]:
        found: dict[str, dict[Place, tuple[_Item, ...]]] = {}
        places: dict[Span, Place | None] = {}
        for span, item in items:
            if span is None:
                continue
            if span not in places:
                places[span] = self.snapshot.place(span)
            if place := places[span]:
                here = found.setdefault(place.path, {})
                here[place] = (*here.get(place, ()), item)
        return found


def _outermost(calls: Iterable[ModuleCall]) -> Iterator[ModuleCall]:
    """Those that are not called within another at the same place."""
    last: dict[Span | None, str] = {}
    for call in calls:
        if call.span not in last or not call.path.startswith(f"{last[call.span]}."):
            last[call.span] = call.path
            yield call


class Descriptions:
    """The latest description of each target that ``analysis`` knows. Belongs to one event loop."""

    def __init__(self, analysis: Analysis, agent_for: Callable[[Path], TracingAgent]) -> None:
        self._analysis = analysis
        self._agent_for = agent_for
        self.on_described: Callable[[str, str], None] = lambda path, key: None
        """Called when there is a new one, of the target ``key`` in the file ``path``."""
        self._known: dict[tuple[str, str], Description] = {}
        self._wanted: set[tuple[str, str]] = set()
        """The targets that are described though they fail."""
        self._waiting: dict[str, None] = {}
        """Files that may have something to describe, in order."""
        self._idle_work = IdleWork("describing what was traced", analysis, self._work, QUIET_SECONDS)

    def of(self, path: str, key: str) -> Description | None:
        """The latest description of a target; None where there is none, or its trace ends in another way by now."""
        return self._known.get((path, key))

    def __iter__(self) -> Iterator[Description]:
        """All that are of traces, those that rest on made up arguments last."""
        traces = (description for description in self._known.values() if description.report.outcome == "traced")
        return iter(sorted(traces, key=lambda description: description.is_assumed))

    def keep(self, path: str, key: str, description: Description) -> None:
        """This is the latest one of a target."""
        self._known[path, key] = description
        self.on_described(path, key)

    def want(self, path: str, key: str) -> None:
        """Describe a target from now on also where it fails."""
        if (path, key) not in self._wanted:
            self._wanted.add((path, key))
            self._waiting[path] = None
            self._idle_work.begin(at_once=True)

    def on_result(self, path: str, complete: bool) -> None:
        """As `Analysis.on_result`: drop what is no longer so, and begin once nothing is traced."""
        self.pause()
        result = self._analysis.results.get(path)
        traced = result.traced if result else {}
        for file, key in list(self._known):
            if file == path and _outcome(traced.get(key)) != self._known[file, key].report.outcome:
                del self._known[file, key]
        if result is None:
            self._wanted = {wanted for wanted in self._wanted if wanted[0] != path}
        if complete and traced:
            self._waiting[path] = None
        self._idle_work.begin()

    def pause(self) -> None:
        """Stop until the next result: something is about to be traced."""
        self._idle_work.pause()

    async def close(self) -> None:
        """Stop all work, and wait until it has stopped."""
        await self._idle_work.close()

    async def _work(self) -> None:
        while self._waiting:
            path = next(iter(self._waiting))
            del self._waiting[path]
            try:
                await self._describe(path)
            except asyncio.CancelledError:
                self._waiting[path] = None
                raise

    async def _describe(self, path: str) -> None:
        """Ask for the descriptions of a file's targets whose reports have none yet."""
        result = self._analysis.results.get(path)
        targets_of_file = result.traced.items() if result else ()
        asked = {key: traced for key, traced in targets_of_file if self._is_new(path, traced)}
        if not asked:
            return
        snapshot = self._analysis.documents.snapshot()
        workspace = self._analysis.workspace
        targets = tuple(traced.target for traced in asked.values())
        roots = workspace.roots_of(path)
        limits = self._analysis.settings_of(path).limits
        limits = dataclasses.replace(limits, seconds=TIME_FACTOR * limits.seconds)
        request = Trace(path, targets, snapshot.overlays(), roots, limits)
        answers = self._agent_for(Path(workspace.folder_of(path))).describe(request)
        async with contextlib.aclosing(answers):
            async for details in answers:
                traced = asked[details.target]
                if traced.report is not None and traced.report.outcome == details.outcome:
                    description = Description(traced.target.title, details, traced.report, snapshot, traced.place)
                    await asyncio.to_thread(description.prepare)
                    self.keep(path, details.target, description)

    def _is_new(self, path: str, traced: Traced) -> bool:
        """Whether a target's last report is of what is to be described, and is not yet."""
        id = path, traced.target.key
        outcome = _outcome(traced)
        known = self._known.get(id)
        is_due = outcome == "traced" or (outcome == "failed" and id in self._wanted)
        return is_due and (known is None or known.report is not traced.report)


def _outcome(traced: Traced | None) -> Outcome | None:
    return None if traced is None or traced.report is None else traced.report.outcome
