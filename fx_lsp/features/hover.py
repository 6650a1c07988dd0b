"""What is known of the model or function under the pointer: did it trace, and what forward was generated."""

from __future__ import annotations

import re
import textwrap
from pathlib import PurePath

from lsprotocol import types

from fx_lsp.agent.messages import Report
from fx_lsp.analysis import Analysis, Traced
from fx_lsp.descriptions import Descriptions
from fx_lsp.features.hover_nodes import described_nodes
from fx_lsp.features.outline import Outlines
from fx_lsp.features.places import ClientPlaces

LONGEST = 40
"""Lines of a generated forward that are shown."""

MOST = 3
"""Targets of one class or function that are shown."""

LONGEST_RECIPE = 200
"""Characters of a recipe that are shown."""

_HOW_TO_SAY = "A comment `# fx: trace(…)` above the class says with which arguments it is to be built."

_HEADS = frozenset({"class", "def", "async", "forward"})
"""Words that stand for what they begin."""

_NAME = re.compile(r"[^\W\d]\w*")
_MODULE_CLASS = re.compile(r"^[ \t]*class\s+(\w+)\s*\([^)]*Module\b", re.MULTILINE)


def hover(
    analysis: Analysis,
    descriptions: Descriptions,
    outlines: Outlines,
    places: ClientPlaces,
    path: str,
    offset: int,
    *,
    shapes: bool = True,
) -> str:
    """The hover at an offset, in Markdown; empty where there is nothing to say. Told from the reports that are kept.

    ``shapes``: whether to tell what expressions yield.
    """
    text = analysis.documents.text(path)
    if text is None:
        return ""
    name = _name_at(text, offset)
    if name in _HEADS:
        name = _defined_at(outlines, path, offset) or name
    found = _named(analysis, path, name)
    if not found and (nodes := described_nodes(descriptions, analysis.documents, path, offset, shapes=shapes)):
        return "\n\n".join(nodes[:MOST])
    found = found or _around(analysis, path, offset)
    parts = [_described(analysis, places, path, traced) for traced in found[:MOST]]
    if len(found) > MOST:
        parts.append(f"It is traced in {len(found) - MOST} more ways.")
    if not parts and name in _MODULE_CLASS.findall(text):
        parts = [_not_traced(name)]
    return "\n\n".join(parts)


def _defined_at(outlines: Outlines, path: str, offset: int) -> str:
    """The name of what is defined by the ``class`` or ``def`` at ``offset``: for a ``def forward``, of its class."""
    for qualified, place in outlines.of(path).items():
        if place.start <= offset <= place.end:
            owner, _, name = qualified.rpartition(".")
            return owner.rpartition(".")[2] if owner and name == "forward" else name
    return ""


def _name_at(text: str, offset: int) -> str:
    """The identifier that ``offset`` touches; empty for an attribute of something and where there is none."""
    start = text.rfind("\n", 0, offset) + 1
    for match in _NAME.finditer(text, start):
        if match.start() > offset:
            break
        if offset <= match.end():
            return "" if text.endswith(".", 0, match.start()) else match[0]
    return ""


def _named(analysis: Analysis, path: str, name: str) -> list[Traced]:
    """The targets that ``name`` stands for."""
    result = analysis.results.get(path)
    traced = result.traced.values() if result and name else ()
    return [item for item in traced if (item.target.symbol or "").split(".")[-1] == name]


def _around(analysis: Analysis, path: str, offset: int) -> list[Traced]:
    """The innermost target around ``offset``."""
    result = analysis.results.get(path)
    around = []
    for traced in result.traced.values() if result else ():
        now = analysis.documents.now(traced.place)
        if now and now.start <= offset <= now.end:
            around.append((now.end - now.start, traced))
    return [min(around, key=lambda found: found[0])[1]] if around else []


def _described(analysis: Analysis, places: ClientPlaces, path: str, traced: Traced) -> str:
    """One target in Markdown."""
    title, report = f"`{traced.target.title}`", traced.report
    if report is None and analysis.held_back:
        return f"{title} is not traced: {analysis.held_back}."
    if report is None:
        return f"Tracing {title} …" if analysis.is_tracing(path) else f"{title} has not been traced yet."
    return f"{_outcome(places, path, title, traced, report)}{_recipe(places, traced, report)}"


def _outcome(places: ClientPlaces, path: str, title: str, traced: Traced, report: Report) -> str:
    if report.outcome == "traced" and not report.failures:
        nodes = "1 node" if report.nodes == 1 else f"{report.nodes} nodes"
        how = f" {report.reason}" if report.reason else ""
        code = f": {nodes}.\n\n```python\n{_cut(report.code)}\n```" if report.code else "."
        return f"{title} can be traced{how}{code}"
    if report.outcome == "skipped":
        return f"{title} is neither a module nor a function, so there is nothing to trace."
    if report.outcome == "unchecked":
        return f"{title} could not be checked: {report.reason}."
    return _failed(places, path, title, traced)


def _recipe(places: ClientPlaces, traced: Traced, report: Report) -> str:
    """How it was built, with a link to where that is written."""
    if not report.recipe or report.recipe == traced.target.title:
        return ""
    shown = f"`{_shortened(report.recipe)}`"
    if report.recipe_span is None:
        return f"\n\nBuilt as {shown}, with arguments that were made up. {_HOW_TO_SAY}"
    location = places.location_of_span(report.recipe_span)
    return f"\n\nBuilt as {shown}{f' ({_line(location)})' if location else ''}."


def _failed(places: ClientPlaces, path: str, title: str, traced: Traced) -> str:
    """The first thing that is in the way of a trace, and where."""
    if not traced.findings:
        return f"{title} can't be traced."
    first, more = traced.findings[0], len(traced.findings) - 1
    location = places.location(first.place)
    file = "" if first.place.path == path else f"{PurePath(first.place.path).name}, "
    where = f" ({_line(location, file)})" if location else ""
    rest = f"\n\n{more} more in the problems list." if more else ""
    return f"{title} can't be traced{where}: {first.message}{rest}"


def _line(location: types.Location, file: str = "") -> str:
    """The line of a place, with a link to it; what names a cell of a notebook can't name a line in it, too."""
    line = location.range.start.line + 1
    shown = f"{file}line {line}"
    return f"{shown} of its cell" if "#" in location.uri else f"[{shown}]({location.uri}#L{line})"


def _not_traced(name: str) -> str:
    return f"`{name}` is not traced: it leaves its forward, or other methods, to subclasses."


def _shortened(text: str) -> str:
    return textwrap.shorten(text, LONGEST_RECIPE, placeholder=" …").replace("`", "'")


def _cut(code: str) -> str:
    """Generated code, shortened to what one reads in a hover."""
    lines = code.rstrip().lstrip("\n").splitlines()
    if len(lines) > LONGEST:
        lines = [*lines[:LONGEST], f"# … {len(lines) - LONGEST} more lines"]
    return "\n".join(lines)
