"""Hover: whether the model or function under the pointer can be traced, and the ``forward`` generated from it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import PurePath

from lsprotocol import types

from fx_lsp.agent.messages import Report
from fx_lsp.analysis.costs.cost_counts import CostCounts
from fx_lsp.analysis.graph_descriptions import GraphDescriptions
from fx_lsp.analysis.judged_captures import OF_NO_CAPTURE
from fx_lsp.analysis.results import Traced
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.server.features.capture_verdicts import in_full
from fx_lsp.server.features.client_places import ClientPlaces
from fx_lsp.server.features.hover_costs import call_costs, model_costs, submodule_costs
from fx_lsp.server.features.hover_nodes import described_nodes
from fx_lsp.server.features.outline import Outlines

LONGEST = 40
"""The maximum number of lines of a generated ``forward`` to show."""

MOST = 3
"""The maximum number of targets of one class or function to show."""

LONGEST_RECIPE = 200
"""The maximum number of characters of a recipe to show."""

_OTHER_ARGUMENTS = "To choose other arguments, write a comment `# fx: trace(…)` above the class."

_HEADS = frozenset({"class", "def", "async", "forward"})
"""Hovering over one of these words shows the definition that the word belongs to."""

_NAME = re.compile(r"[^\W\d]\w*")
_MODULE_CLASS = re.compile(r"^[ \t]*class\s+(\w+)\s*\([^)]*Module\b", re.MULTILINE)


def hover(
    scheduler: Scheduler,
    descriptions: GraphDescriptions,
    outlines: Outlines,
    places: ClientPlaces,
    path: str,
    offset: int,
    *,
    shapes: bool = True,
    costs: CostCounts | None = None,
) -> str:
    """The hover at an offset, in Markdown, from the latest reports; empty if there is nothing to show.

    ``shapes``: whether to show the values of expressions. ``costs``: what models cost, if that is to be shown.
    """
    text = scheduler.documents.text(path)
    if text is None:
        return ""
    name = _name_at(text, offset)
    if name in _HEADS:
        name = _defined_at(outlines, path, offset) or name
    found = _named(scheduler, path, name)
    if not found:
        nodes = described_nodes(descriptions, scheduler.documents, path, offset, shapes=shapes)[:MOST]
        shown = [*nodes, *filter(None, _costs(scheduler, descriptions, costs, path, offset))]
        if shown:
            return "\n\n".join(shown)
    found = found or _around(scheduler, path, offset)
    parts = [
        _described(scheduler, places, path, traced, model_costs(costs.of(path, traced.target.key)) if costs else "")
        for traced in found[:MOST]
    ]
    if len(found) > MOST:
        more = len(found) - MOST
        parts.append("It is also traced in 1 other way." if more == 1 else f"It is also traced in {more} other ways.")
    if not parts and name in _MODULE_CLASS.findall(text):
        parts = [f"`{name}` is not traced, because its `forward` or other methods are left to subclasses."]
    return "\n\n".join(parts)


def _defined_at(outlines: Outlines, path: str, offset: int) -> str:
    """The name that the ``class`` or ``def`` at ``offset`` defines; for a ``def forward``, the name of its class."""
    for qualified, place in outlines.of(path).items():
        if place.start <= offset <= place.end:
            owner, _, name = qualified.rpartition(".")
            return owner.rpartition(".")[2] if owner and name == "forward" else name
    return ""


def _name_at(text: str, offset: int) -> str:
    """The identifier that ``offset`` touches; empty if there is none, or if it is an attribute."""
    start = text.rfind("\n", 0, offset) + 1
    for match in _NAME.finditer(text, start):
        if match.start() > offset:
            break
        if offset <= match.end():
            return "" if text.endswith(".", 0, match.start()) else match[0]
    return ""


def _named(scheduler: Scheduler, path: str, name: str) -> list[Traced]:
    """The targets that ``name`` refers to."""
    result = scheduler.results.get(path)
    traced = result.traced.values() if result and name else ()
    return [item for item in traced if (item.target.symbol or "").split(".")[-1] == name]


def _around(scheduler: Scheduler, path: str, offset: int) -> list[Traced]:
    """The innermost target that contains ``offset``, in a list; empty if there is none."""
    result = scheduler.results.get(path)
    around = []
    for traced in result.traced.values() if result else ():
        now = scheduler.documents.now(traced.place)
        if now and now.start <= offset <= now.end:
            around.append((now.end - now.start, traced))
    return [min(around, key=lambda found: found[0])[1]] if around else []


def _costs(
    scheduler: Scheduler, descriptions: GraphDescriptions, counts: CostCounts | None, path: str, offset: int
) -> Iterator[str]:
    """What the call or the submodule at an offset costs."""
    if counts is not None:
        yield call_costs(descriptions, counts, scheduler.documents, path, offset)
        yield submodule_costs(scheduler.results, counts, scheduler.documents, path, offset)


def _described(scheduler: Scheduler, places: ClientPlaces, path: str, traced: Traced, costs: str) -> str:
    """One target's result and what it costs, in Markdown."""
    title, report = f"`{traced.target.title}`", traced.report
    if report is None and scheduler.held_back:
        return f"{title} is not traced: {scheduler.held_back}."
    if report is None:
        return f"Tracing {title} …" if scheduler.is_tracing(path) else f"{title} has not been traced yet."
    told = f"{_outcome(scheduler, places, path, traced, report)}{_recipe(places, traced, report)}"
    return "\n\n".join(filter(None, [told, costs, *_captures(scheduler, path, traced)]))


def _captures(scheduler: Scheduler, path: str, traced: Traced) -> Iterator[str]:
    """What came of the target's other captures, and why symbolic tracing's failures are not shown, if they are not."""
    judged = scheduler.results.captures_of(traced.target)
    if _is_hidden(scheduler, traced):
        yield "*Your code does not trace it, so this is not shown as a problem.*"
    for capture, captured in scheduler.results.captured(path, traced.target.key).items():
        yield in_full(capture, captured, is_judged=capture in judged)


def _is_hidden(scheduler: Scheduler, traced: Traced) -> bool:
    """Whether the trace failed, but that is not shown as a problem, because the code only uses other captures."""
    can_fail = traced.report is not None and traced.report.outcome not in ("traced", "unchecked", "skipped")
    is_of_trace = bool(traced.findings) and traced.findings[0].failure.kind not in OF_NO_CAPTURE
    return can_fail and is_of_trace and "fx" not in scheduler.results.captures_of(traced.target)


def _outcome(scheduler: Scheduler, places: ClientPlaces, path: str, traced: Traced, report: Report) -> str:
    title = f"`{traced.target.title}`"
    if report.outcome == "traced" and not report.failures:
        nodes = "1 node" if report.nodes == 1 else f"{report.nodes} nodes"
        how = f" {report.reason}" if report.reason else ""
        code = f": {nodes}.\n\n```python\n{_cut(report.code)}\n```" if report.code else "."
        return f"{title} can be traced{how}{code}"
    if report.outcome == "skipped":
        return f"{title} is neither a module nor a function, so there is nothing to trace."
    if report.outcome == "unchecked":
        return f"{title} could not be checked: {report.reason}."
    return _failed(places, path, title, traced, is_shown=not _is_hidden(scheduler, traced))


def _recipe(places: ClientPlaces, traced: Traced, report: Report) -> str:
    """How the target was built, with a link to the code that shows it."""
    if not report.recipe or report.recipe == traced.target.title:
        return ""
    shown = textwrap.shorten(report.recipe, LONGEST_RECIPE, placeholder=" …").replace("`", "'")
    if report.recipe_span is None:
        return f"\n\nBuilt as `{shown}`, with arguments that fx-lsp invented. {_OTHER_ARGUMENTS}"
    location = places.location_of_span(report.recipe_span)
    return f"\n\nBuilt as `{shown}`{f' ({_line(location)})' if location else ''}."


def _failed(places: ClientPlaces, path: str, title: str, traced: Traced, *, is_shown: bool) -> str:
    """The first failure of a target, and where it is. ``is_shown``: whether its failures are shown as problems."""
    if not traced.findings:
        return f"{title} can't be traced."
    first, more = traced.findings[0], len(traced.findings) - 1
    location = places.location(first.place)
    file = "" if first.place.path == path else f"{PurePath(first.place.path).name}, "
    where = f" ({_line(location, file)})" if location else ""
    rest = f"\n\nThe list of problems shows {more} more." if more and is_shown else ""
    return f"{title} can't be traced{where}: {first.message}{rest}"


def _line(location: types.Location, file: str = "") -> str:
    """The line of a place, as a link except in notebooks: a link to a cell can't contain a line."""
    line = location.range.start.line + 1
    shown = f"{file}line {line}"
    return f"{shown} of its cell" if "#" in location.uri else f"[{shown}]({location.uri}#L{line})"


def _cut(code: str) -> str:
    """Generated code, shortened for a hover."""
    lines = code.rstrip().lstrip("\n").splitlines()
    if len(lines) > LONGEST:
        lines = [*lines[:LONGEST], f"# … {len(lines) - LONGEST} more lines"]
    return "\n".join(lines)
