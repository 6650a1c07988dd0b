"""Applies the changes of one or more fixes to the texts of files, and finds changes that conflict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from fx_lsp.agent.messages import Span
from fx_lsp.documents.positions import LineIndex
from fx_lsp.fixes.editing import TextChange

LinesOf = Callable[[str], "LineIndex | None"]
"""Absolute path -> the text that changes refer to; None for a file that cannot be read."""


def applied(changes: Iterable[TextChange], lines_of: LinesOf) -> dict[str, str]:
    """Path -> new text, for every file with changes, except files that cannot be read."""
    by_file: dict[str, list[TextChange]] = defaultdict(list)
    for change in changes:
        by_file[change.span.file].append(change)
    texts = {}
    for file, its in by_file.items():
        if (lines := lines_of(file)) is not None:
            texts[file] = _applied(its, lines)
    return texts


def overlap(one: TextChange, other: TextChange) -> bool:
    """Whether the two changes conflict, that is, differ and overlap or begin at the same place."""
    if one.span.file != other.span.file or one == other:
        return False
    start, end = _ends(one.span)
    other_start, other_end = _ends(other.span)
    return (start < other_end and other_start < end) or start == other_start


def replacements(changes: Iterable[TextChange], lines: LineIndex) -> Iterator[tuple[int, int, str]]:
    """For each of a file's ``changes``, the offsets of what it replaces in the text, and by what; the last one first.

    So each can be made without moving what the others replace.
    """
    for change in sorted(changes, key=lambda change: _ends(change.span), reverse=True):
        start, end = (lines.offset_of_python(*place) for place in _ends(change.span))
        yield start, end, _with_line_ends_of(lines.text, change.text)


def _applied(changes: Iterable[TextChange], lines: LineIndex) -> str:
    text = lines.text
    for start, end, new in replacements(changes, lines):
        text = text[:start] + new + text[end:]
    return text


def _with_line_ends_of(text: str, added: str) -> str:
    """``added`` with the line ends of ``text``; most fixes write every line end as a line feed."""
    return added.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in text else added


def _ends(span: Span) -> tuple[tuple[int, int], tuple[int, int]]:
    return (span.line, span.col), (span.end_line, span.end_col)
