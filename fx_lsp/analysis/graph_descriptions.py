"""Has the agent describe the graphs of traced targets while nothing is being traced, and keeps the descriptions.

A description survives edits: until the next description replaces it, its places move with the edited text. It is
dropped when its target is gone or a new trace of the target has a different outcome. A target that fails is
described only on request, because what is recorded after a failure rests on assumptions.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from fx_lsp.agent.messages import Details, GraphNode, ModuleCall, Outcome, Report, Span
from fx_lsp.analysis.idle_work import IdleWork
from fx_lsp.analysis.results import Traced
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.documents.documents import Place, Snapshot

TIME_FACTOR = 6
"""The time limit of a description, as a multiple of a trace's: describing traces twice and runs the graph."""


_Item = TypeVar("_Item")


@dataclass(frozen=True)
class GraphDescription:
    """The details of one target, and the text that was traced."""

    title: str
    details: Details
    report: Report
    snapshot: Snapshot
    place: Place

    @property
    def is_assumed(self) -> bool:
        """Whether fx-lsp invented the arguments that the target was built with."""
        return self.report.intent == "assumed"

    @functools.cached_property
    def recorded(self) -> Mapping[str, Mapping[Place, tuple[GraphNode, ...]]]:
        """By path and expression: the nodes that the expression was recorded as, one for each module that ran it."""
        return self._by_place((node.span, node) for node in self.details.nodes)

    @functools.cached_property
    def values(self) -> Mapping[str, Mapping[Place, tuple[str, ...]]]:
        """By path and expression: the expression's known values, one for each time that it was evaluated.

        The value of an expression that calls modules is what the outermost module returns. The nodes of the modules
        inside it are also recorded at that place if no line of the user's code is in between, as in ``nn.Sequential``.
        """
        calls = list(_outermost(self.details.order))
        calling = {call.span for call in calls}
        told = ((node.span, node.value) for node in self.details.nodes if node.span not in calling)
        items = itertools.chain(told, ((call.span, call.value) for call in calls))
        return self._by_place((span, value) for span, value in items if value)

    @functools.cached_property
    def calls(self) -> Mapping[str, Mapping[Place, tuple[ModuleCall, ...]]]:
        """By path and expression: the modules that it calls."""
        return self._by_place((call.span, call) for call in _outermost(self.details.order))

    def prepare(self) -> None:
        """Compute the cached properties, so that no hover waits for them."""
        _ = self.recorded, self.values, self.calls

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
    """The calls that are not made within another call at the same place."""
    last: dict[Span | None, str] = {}
    for call in calls:
        if call.span not in last or not call.path.startswith(f"{last[call.span]}."):
            last[call.span] = call.path
            yield call


class GraphDescriptions(IdleWork):
    """The latest description of each target in the results of ``scheduler``. Must be used from one event loop."""

    name = "describing what was traced"
    quiet_seconds = 0.15

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        self.on_described: Callable[[str, str], None] = lambda path, key: None
        """Called with the path and the key of a target that has a new description."""
        self._known: dict[tuple[str, str], GraphDescription] = {}
        self._wanted: set[tuple[str, str]] = set()
        """The targets that are described even if they fail."""
        self._waiting: dict[str, None] = {}
        """Files that may have something to describe, in order."""

    def of(self, path: str, key: str) -> GraphDescription | None:
        """The latest description of a target; None if there is none for the outcome of its latest trace."""
        return self._known.get((path, key))

    def __iter__(self) -> Iterator[GraphDescription]:
        """All descriptions of targets that were traced to their end, those built with invented arguments last."""
        traces = (description for description in self._known.values() if description.report.outcome == "traced")
        return iter(sorted(traces, key=lambda description: description.is_assumed))

    def keep(self, path: str, key: str, description: GraphDescription) -> None:
        """Keep ``description`` as the latest one of a target."""
        self._known[path, key] = description
        self.on_described(path, key)

    def want(self, path: str, key: str) -> None:
        """From now on, describe a target even if it fails."""
        if (path, key) not in self._wanted:
            self._wanted.add((path, key))
            self._waiting[path] = None
            self.begin(at_once=True)

    def on_result(self, path: str, complete: bool) -> None:
        """Drop the descriptions of targets that are gone or have a new outcome; work begins once nothing is traced."""
        self.pause()
        result = self._scheduler.results.get(path)
        traced = result.traced if result else {}
        for file, key in list(self._known):
            if file == path and _outcome(traced.get(key)) != self._known[file, key].report.outcome:
                del self._known[file, key]
        if result is None:
            self._wanted = {wanted for wanted in self._wanted if wanted[0] != path}
        if complete and traced:
            self._waiting[path] = None
        self.begin()

    async def work(self) -> None:
        """Describe the targets of the waiting files."""
        await self.do_in_turn(self._waiting, self._describe)

    async def _describe(self, path: str) -> None:
        """Have the agent describe those targets of a file whose latest reports have no description yet."""
        result = self._scheduler.results.get(path)
        targets_of_file = result.traced.items() if result else ()
        asked = {key: traced for key, traced in targets_of_file if self._is_new(path, traced)}
        if not asked:
            return
        snapshot = self._scheduler.documents.snapshot()
        request = self._scheduler.request(path, list(asked.values()), snapshot, TIME_FACTOR)
        async with contextlib.aclosing(self._scheduler.agent_for(path).describe(request)) as answers:
            async for details in answers:
                traced = asked[details.target]
                if traced.report is not None and traced.report.outcome == details.outcome:
                    description = GraphDescription(traced.target.title, details, traced.report, snapshot, traced.place)
                    await asyncio.to_thread(description.prepare)
                    self.keep(path, details.target, description)

    def _is_new(self, path: str, traced: Traced) -> bool:
        """Whether a target's latest report should be described and has not been."""
        id = path, traced.target.key
        outcome = _outcome(traced)
        known = self._known.get(id)
        is_due = outcome == "traced" or (outcome == "failed" and id in self._wanted)
        return is_due and (known is None or known.report is not traced.report)


def _outcome(traced: Traced | None) -> Outcome | None:
    return None if traced is None or traced.report is None else traced.report.outcome
