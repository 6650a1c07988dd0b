"""Has the agent describe and count traced targets for inputs that the user has chosen, and keeps the results.

The results for the inputs that the agent finds by itself are kept elsewhere (``graph_descriptions.py``,
``costs/cost_counts.py``): everything but the graph view goes on to show these.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import TypeVar

from fx_lsp.agent.messages import Report
from fx_lsp.analysis.costs.cost_counts import NOT_COUNTED, CostCount
from fx_lsp.analysis.graph_descriptions import TIME_FACTOR, GraphDescription
from fx_lsp.analysis.idle_work import IdleWork
from fx_lsp.analysis.results import Traced
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.documents.directives import are_arguments

NO_ARGUMENTS = "it is not a valid list of arguments; an example is torch.rand(1, 3, 32, 32)"

LONGEST_PROBLEM = 200
"""How many characters of a problem are kept: it is shown beside the field in which the input is entered."""

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class InputResult:
    """A target's graph and costs for one input."""

    description: GraphDescription
    count: CostCount | None
    """None if nothing was counted, e.g. because the settings say so."""


@dataclass
class ChosenInput:
    """The input that the user has chosen for a target, and what came of it."""

    inputs: str
    """The arguments of a call, without parentheses."""
    report: Report | None = None
    """The report on the trace that was last described for these inputs; None if there is none yet."""
    problem: str = ""
    """Why the inputs can't be used, as part of a sentence; empty if they can, or if that is not known yet."""
    result: InputResult | None = None
    """The last result. It may be for an earlier choice, or an earlier text of the file."""


class ChosenInputs(IdleWork):
    """The inputs that were chosen for targets in the results of ``scheduler``. Must be used from one event loop."""

    name = "counting for inputs that the user has chosen"
    quiet_seconds = 0.15

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        self.on_result_for_input: Callable[[str, str], None] = lambda path, key: None
        """Called with the path and the key of a target of which more is known for its chosen input."""
        self._chosen: dict[tuple[str, str], ChosenInput] = {}

    def choose(self, path: str, key: str, inputs: str) -> ChosenInput | None:
        """From now on, describe and count a target for ``inputs``, too; empty: no longer. What is known so far."""
        inputs = inputs.strip()
        chosen = self._chosen.pop((path, key), ChosenInput(""))
        if inputs:
            self._chosen[path, key] = chosen
        if chosen.inputs != inputs:
            chosen.inputs, chosen.report, chosen.problem = inputs, None, ""
            self.pause()  # it may be at work for the former inputs
            self.begin(at_once=True)
        return chosen if inputs else None

    def on_result(self, path: str, complete: bool) -> None:
        """Drop the choices for a file that was closed; work begins once nothing is traced."""
        self.pause()
        if path not in self._scheduler.results:
            self._chosen = {target: chosen for target, chosen in self._chosen.items() if target[0] != path}
        if self._chosen:
            self.begin()

    async def work(self) -> None:
        """Describe and count every target whose latest report has not been described for its chosen input."""
        for path, key in list(self._chosen):
            traced = self._traced(path, key)
            chosen = self._chosen.get((path, key))
            if chosen and traced and traced.report and chosen.report is not traced.report:
                if traced.report.outcome == "traced":
                    await self._run(path, traced, chosen)
                chosen.report = traced.report
                self.on_result_for_input(path, key)

    def _traced(self, path: str, key: str) -> Traced | None:
        result = self._scheduler.results.get(path)
        return result.traced.get(key) if result else None

    async def _run(self, path: str, traced: Traced, chosen: ChosenInput) -> None:
        """Find out what a target yields and costs for its chosen input, or why that can't be found out."""
        chosen.problem = "" if are_arguments(chosen.inputs) else NO_ARGUMENTS
        if chosen.problem:
            return
        snapshot = self._scheduler.documents.snapshot()
        request = self._scheduler.request(path, [traced], snapshot, TIME_FACTOR)
        request = dataclasses.replace(request, inputs=f"({chosen.inputs})")
        details = await _last(self._scheduler.agent_for(path).describe(request))
        if details is None or not (details.input or details.problem):
            chosen.problem = NOT_COUNTED
            return
        chosen.problem = _in_short(details.problem)
        if not chosen.problem:
            counts = self._scheduler.settings_of(path).costs != "off"
            costs = await _last(self._scheduler.agent_for(path).count(request)) if counts else None
            assert traced.report is not None
            description = GraphDescription(traced.target.title, details, traced.report, snapshot, traced.place)
            chosen.result = InputResult(description, CostCount(costs, traced.report) if costs else None)


async def _last(answers: AsyncGenerator[_Answer, None]) -> _Answer | None:
    """The last of ``answers``; None if there is none."""
    last = None
    async with contextlib.aclosing(answers):
        async for answer in answers:
            last = answer
    return last


def _in_short(problem: str) -> str:
    """The first line of a text, cut if it is long."""
    line = problem.partition("\n")[0]
    return line if len(line) <= LONGEST_PROBLEM else f"{line[:LONGEST_PROBLEM]}…"
