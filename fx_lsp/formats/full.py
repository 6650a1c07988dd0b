"""What ``fx-lsp check`` prints for people: each problem with its source line, the way there and what may mend it."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator

from fx_lsp.check import Checked, Problem
from fx_lsp.documents import Documents, Place
from fx_lsp.fixes import Fix
from fx_lsp.formats.places import line_and_column, spot
from fx_lsp.positions import LineIndex

_TAB = 4
"""Columns that a tab is shown as."""

_MOST_LINES = 6
"""Source lines that are shown of one place."""

_STYLES = {
    "error": "1;31",
    "warning": "1;33",
    "information": "1;34",
    "hint": "1;36",
    "note": "1;36",
    "help": "1;32",
    "bold": "1",
    "frame": "34",
}
"""ANSI codes (SGR parameters, ECMA-48)."""


def render(checked: Checked) -> str:
    """Every problem, and a last line that sums up; in colours where they are wanted (https://no-color.org)."""
    wanted = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return full(checked, colour=wanted)


def full(checked: Checked, *, colour: bool) -> str:
    """The same with colours or without."""
    page = _Page(checked.documents, colour)
    return "\n\n".join([*(page.problem(problem) for problem in checked.problems), summary(checked)])


def summary(checked: Checked) -> str:
    """How much was traced, and what was found."""
    counts = checked.traced_targets()
    targets = _counted(sum(counts), "model or function", "models and functions")
    traced = f"Traced {targets} in {_counted(len(counts), 'file', 'files')}"
    if not counts and not checked.problems:
        return "Nothing to trace was found."
    if not checked.problems:
        return f"{traced}: no problem found."
    return f"{traced}: {_counted(len(checked.problems), 'problem', 'problems')} found."


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


class _Page:
    """Lays out problems, with ANSI colours or without."""

    def __init__(self, documents: Documents, colour: bool) -> None:
        self._documents = documents
        self._colour = colour

    def problem(self, problem: Problem) -> str:
        """The message, the place, the way there, the fixes."""
        finding = problem.finding
        title = self._paint(finding.severity, f"{finding.severity}[{finding.rule.code}]")
        rows = [f"{title}{self._paint('bold', f': {finding.line}')}"]
        rows += self._excerpt(finding.place, finding.severity, "^")
        if finding.targets:
            targets = ", ".join(f"`{title}`" for title in finding.targets)
            rows += [f"{self._paint('note', 'note')}: while tracing {targets}"]
        for link in finding.links:
            rows += [f"{self._paint('note', 'note')}: {link.text}", *self._excerpt(link.place, "note", "-")]
        for fix in problem.fixes:
            rows += [f"{self._paint('help', 'help')}: {fix.title}", *self._edits(fix)]
        return "\n".join(rows)

    def _excerpt(self, place: Place, style: str, mark: str) -> Iterator[str]:
        """The place's file and position, and its source lines with the place underlined by ``mark``."""
        here = spot(place, self._documents)
        lines = here.lines
        line, column = line_and_column(lines, here.start)
        end_line, end_column = line_and_column(lines, here.end)
        last = min(end_line, line + _MOST_LINES - 1)
        width = len(str(last))
        yield f"{' ' * width}{self._paint('frame', '-->')} {here.name}:{line}:{column}"
        yield self._framed(width, "", "")
        for number in range(line, last + 1):
            text = lines.line(number - 1)
            start = column - 1 if number == line else len(text) - len(text.lstrip())
            end = end_column - 1 if number == end_line else len(text.rstrip())
            yield self._framed(width, str(number), _visible(text))
            underline = mark * max(_columns(text[start:end], _columns(text[:start])), 1)
            yield self._framed(width, "", " " * _columns(text[:start]) + self._paint(style, underline))
        if last < end_line:
            yield self._framed(width, "", "...")

    def _edits(self, fix: Fix) -> Iterator[str]:
        """The lines that the fix takes out and puts in, numbered as in the file before and after; not of notebooks."""
        if any(change.span.file in self._documents.notebooks for change in fix.changes):
            return
        rows: list[tuple[int, str, str]] = []
        shift = Counter[str]()
        for change in fix.changes:
            file, line = change.span.file, change.span.line
            lines = self._documents.lines(file) or LineIndex("")
            old = [lines.line(number - 1) for number in range(line, change.span.end_line)]
            new = change.text.splitlines()
            rows += [(number, "-", text) for number, text in enumerate(old, line)]
            rows += [(number, "+", text) for number, text in enumerate(new, line + shift[file]) if text]
            shift[file] += len(new) - len(old)
        width = max((len(str(number)) for number, _, _ in rows), default=0)
        for number, sign, text in rows:
            yield self._paint("help" if sign == "+" else "error", f"{number:>{width}} {sign} {_visible(text)}".rstrip())

    def _framed(self, width: int, number: str, text: str) -> str:
        return f"{self._paint('frame', f'{number:>{width}} |')} {text}".rstrip()

    def _paint(self, style: str, text: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._colour and text else text


def _visible(text: str) -> str:
    """``text`` with each tab as the spaces that it is shown as."""
    shown = ""
    for character in text:
        shown += " " * _width(character, _columns(shown)) if character == "\t" else character
    return shown


def _columns(text: str, start: int = 0) -> int:
    """How many columns of a terminal ``text`` takes that begins in column ``start``."""
    at = start
    for character in text:
        at += _width(character, at)
    return at - start


def _width(character: str, at: int) -> int:
    """How many columns one character takes in column ``at`` (Unicode Standard Annex 11)."""
    if character == "\t":
        return _TAB - at % _TAB
    if unicodedata.category(character) in ("Cf", "Me", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
