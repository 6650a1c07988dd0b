"""Positions in a file's text: as the compiler counts them, as the client counts them, and as offsets.

The compiler counts lines from 1 and columns in UTF-8 bytes from 0; a client counts both from 0, columns in the units
that were agreed on when it connected (UTF-16, unless it supports another). Internally, a position is an *offset*: an
index into the Python string. Edits move offsets.

Both for the compiler and for the protocol (`LSP 3.17, Text Documents`), lines end at ``\\r\\n``, ``\\r`` and ``\\n``
and nowhere else. ``str.splitlines`` is not used because it also splits at form feeds and seven other characters.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

Encoding = Literal["utf-8", "utf-16", "utf-32"]

_LINE_END = re.compile(r"\r\n|\r|\n")
_CODECS: dict[Encoding, tuple[str, int]] = {
    "utf-8": ("utf-8", 1),
    "utf-16": ("utf-16-le", 2),
    "utf-32": ("utf-32-le", 4),
}
"""By encoding, Python's codec and the number of bytes in one unit."""


class Position(NamedTuple):
    """A position as a client counts it."""

    line: int
    """From 0."""
    character: int
    """From 0, in units of the client's encoding."""


class LineIndex:
    """The lines of a file's text, to convert positions to offsets and back.

    A position outside the text counts as the nearest position in it.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        ends = [match.span() for match in _LINE_END.finditer(text)]
        self._starts = [0, *(end for _, end in ends)]
        self._ends = [*(start for start, _ in ends), len(text)]

    def line(self, number: int) -> str:
        """Line ``number`` (from 0) without its line ending; empty if there is no such line."""
        if not 0 <= number < len(self._starts):
            return ""
        return self.text[self._starts[number] : self._ends[number]]

    def offset_of_python(self, line: int, column: int) -> int:
        """The offset of the compiler's ``line`` (from 1) and ``column`` (UTF-8 bytes from 0)."""
        # The compiler does not count a byte order mark, which takes three bytes.
        mark = 3 if line == 1 and self.text.startswith("\ufeff") else 0
        return self.offset_of_client(Position(line - 1, mark + column), "utf-8")

    def offset_of_client(self, position: Position, encoding: Encoding) -> int:
        """The offset of a client's ``position``, counted in ``encoding``."""
        line, units = position
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self.text)
        start, end = self._starts[line], self._ends[line]
        return start + _characters(self.text[start:end], max(0, units), encoding)

    def position(self, offset: int, encoding: Encoding) -> Position:
        """The position of ``offset`` for a client that counts in ``encoding``."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect.bisect_right(self._starts, offset) - 1
        within = min(offset, self._ends[line])
        return Position(line, _units(self.text[self._starts[line] : within], encoding))


@dataclass(frozen=True)
class Change:
    """A client's edit: ``text`` replaces what is between ``start`` and ``end``; without these, the whole document."""

    text: str
    start: Position | None = None
    end: Position | None = None

    def ends(self, lines: LineIndex, encoding: Encoding) -> tuple[int, int]:
        """The start and end offsets of the text that the change replaces."""
        if self.start is None or self.end is None:
            return 0, len(lines.text)
        start = lines.offset_of_client(self.start, encoding)
        return start, max(start, lines.offset_of_client(self.end, encoding))


def _units(text: str, encoding: Encoding) -> int:
    """How many units of ``encoding`` the text takes."""
    if text.isascii():
        return len(text)
    codec, width = _CODECS[encoding]
    return len(text.encode(codec, "surrogatepass")) // width


def _characters(line: str, units: int, encoding: Encoding) -> int:
    """How many whole characters the first ``units`` units of ``line`` contain."""
    if line.isascii():
        return min(units, len(line))
    codec, width = _CODECS[encoding]
    head = line.encode(codec, "surrogatepass")[: units * width]
    return len(head.decode(codec, "ignore"))


@dataclass(frozen=True, slots=True)
class Edit:
    """The replacement of ``text[start:end]`` by ``length`` new characters."""

    start: int
    end: int
    length: int

    @property
    def new_end(self) -> int:
        """The offset at which the new characters end."""
        return self.start + self.length

    @property
    def is_typed(self) -> bool:
        """Whether the edit could come from a single keystroke: it replaces at most one character with at most one."""
        return self.length <= 1 and self.end - self.start <= 1

    @classmethod
    def between(cls, old: str, new: str, at: int = 0) -> Edit:
        """The smallest single edit that turns ``old``, which begins at offset ``at``, into ``new``.

        Some clients replace whole documents, e.g. after formatting; text that stays the same must not count as edited.
        """
        shorter = min(len(old), len(new))
        head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
        rest = shorter - head
        tail = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
        return cls(at + head, at + len(old) - tail, len(new) - tail - head)


def shifted(start: int, end: int, edits: Iterable[Edit]) -> tuple[int, int] | None:
    """Where ``text[start:end]`` is after ``edits``, made one after another; None if one of them changed it."""
    for edit in edits:
        if edit.end <= start:
            moved = edit.length - (edit.end - edit.start)
            start, end = start + moved, end + moved
        elif edit.start < end:
            return None
    return start, end


def stretched(start: int, end: int, edits: Iterable[Edit]) -> tuple[int, int] | None:
    """Where ``text[start:end]`` is after ``edits``, with what they put into it; None if nothing of it is left."""
    for edit in edits:
        growth = edit.length - (edit.end - edit.start)
        if edit.end <= start:
            start, end = start + growth, end + growth
        elif edit.start < end:
            start = start if start <= edit.start else edit.new_end
            end = end + growth if edit.end <= end else edit.start
            if start >= end:
                return None
    return start, end
