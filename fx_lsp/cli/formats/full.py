"""For people to read: each problem with its source line, the calls that lead to it, and the fixes as diffs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import wcwidth

from fx_lsp.check.check_files import Checked, Problem
from fx_lsp.check.shown_places import line_and_column, shown_path, spot
from fx_lsp.documents.documents import Documents, Place
from fx_lsp.documents.positions import LineIndex
from fx_lsp.fixes import Fix
from fx_lsp.fixes.editing.line_changes import changes_between
from fx_lsp.fixes.editing.text_edits import applied

_TAB = 4
"""How many columns a tab takes."""

_MOST_LINES = 6
"""How many source lines of one place are shown."""

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
    """Every problem and a summary; in color on a terminal, unless the user opts out (https://no-color.org)."""
    wanted = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return full(checked, color=wanted)


def full(checked: Checked, *, color: bool) -> str:
    """Every problem and a summary, with ANSI colors or without."""
    page = _Page(checked.documents, color)
    return "\n\n".join([*(page.problem(problem) for problem in checked.problems), summary(checked)])


def summary(checked: Checked) -> str:
    """How much was traced, and how many problems were found."""
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
    """Lays out problems, with ANSI colors or without."""

    def __init__(self, documents: Documents, color: bool) -> None:
        self._documents = documents
        self._color = color

    def problem(self, problem: Problem) -> str:
        """A problem as text: its message, its place, the related places and the fixes."""
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
            tried = f" ({proof.in_words})" if (proof := problem.proofs.get(fix)) else ""
            rows += [f"{self._paint('help', 'help')}: {fix.title}{tried}", *self._edits(fix, finding.place)]
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
            indent = _columns(text[:start])
            underline = mark * max(_columns(text[:end]) - indent, 1)
            yield self._framed(width, "", " " * indent + self._paint(style, underline))
        if last < end_line:
            yield self._framed(width, "", "...")

    def _edits(self, fix: Fix, place: Place) -> Iterator[str]:
        """A diff of whole lines, with line numbers, for each file that the fix changes; nothing for notebooks.

        The path of a file is shown if the problem's ``place`` is in another file.
        """
        if any(change.span.file in self._documents.notebooks for change in fix.changes):
            return
        for path, text in applied(fix.changes, self._documents.lines).items():
            if path != place.path:
                yield f" {self._paint('frame', '-->')} {shown_path(path)}"
            rows = list(_changed_lines(path, self._documents.text(path) or "", text))
            width = max((len(str(number)) for number, _, _ in rows), default=0)
            for number, sign, line in rows:
                row = f"{number:>{width}} {sign} {_visible(line)}"
                yield self._paint("help" if sign == "+" else "error", row.rstrip())

    def _framed(self, width: int, number: str, text: str) -> str:
        return f"{self._paint('frame', f'{number:>{width}} |')} {text}".rstrip()

    def _paint(self, style: str, text: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._color and text else text


def _changed_lines(path: str, old: str, new: str) -> Iterator[tuple[int, str, str]]:
    """The lines that ``new`` removes (``-``) and adds (``+``), each with its number, except for blank lines."""
    before, after, shift = LineIndex(old), LineIndex(new), 0
    for change in changes_between(path, old, new):
        first, end = change.span.line, change.span.end_line
        added = len(change.text.splitlines())
        rows = [(number, "-", before.line(number - 1)) for number in range(first, end)]
        rows += [(number, "+", after.line(number - 1)) for number in range(first + shift, first + shift + added)]
        yield from (row for row in rows if row[2].strip())
        shift += added - (end - first)


def _visible(text: str) -> str:
    """``text`` with tabs expanded to spaces."""
    shown, *others = text.split("\t")
    for other in others:
        shown += " " * (_TAB - _columns(shown) % _TAB) + other
    return shown


def _columns(text: str) -> int:
    """How many columns of a terminal ``text`` takes."""
    return wcwidth.width(_visible(text), control_codes="ignore")
