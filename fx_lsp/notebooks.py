"""Notebooks: the code cells of one are one module, in their order.

In the module each cell's text is followed by a line end, and what only IPython understands is blanked, so that every
character of a cell has one place in the module, and the other way around.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fx_lsp.magics import blanked
from fx_lsp.positions import Change, Encoding, LineIndex


@dataclass(frozen=True)
class Cell:
    """A cell as the client has it, with its place in the module."""

    uri: str
    language: str
    version: int
    """The client's."""
    lines: LineIndex
    """Its text."""
    code: str
    """The same as Python: as long as the text."""
    start: int = 0
    """The offset in the module at which it begins."""

    @classmethod
    def of(cls, uri: str, language: str, version: int, text: str) -> Cell:
        """A cell with this text."""
        return cls(uri, language, version, LineIndex(text), blanked(text))

    @property
    def end(self) -> int:
        """The offset in the module behind its last character."""
        return self.start + len(self.code)

    def changed(self, changes: Iterable[Change], version: int, encoding: Encoding) -> Cell:
        """The cell after ``changes``, made one after another."""
        lines = self.lines
        for change in changes:
            start, end = change.ends(lines, encoding)
            lines = LineIndex(lines.text[:start] + change.text + lines.text[end:])
        return dataclasses.replace(self, version=version, lines=lines, code=blanked(lines.text))


@dataclass(frozen=True)
class Splice:
    """``text`` in the place of ``module[start:end]``."""

    start: int
    end: int
    text: str


class Notebook:
    """The cells of one notebook. Changes of theirs count once `lay_out` is called."""

    def __init__(self) -> None:
        self.order: list[str] = []
        """The URIs of all cells that the client names, in order; those that have no text here are no code."""
        self.texts: dict[str, Cell] = {}
        """By URI."""
        self.cells: tuple[Cell, ...] = ()
        """Those in Python, as the module has them."""

    @property
    def text(self) -> str:
        """The module's."""
        return _text(self.cells)

    def lay_out(self) -> Splice:
        """Make the module of the cells as they are now; what that changes in its text."""
        before = self.cells
        self.cells = tuple(_placed(self.texts[uri] for uri in self.order if uri in self.texts))
        head = _alike(before, self.cells)
        tail = _alike(before[head:][::-1], self.cells[head:][::-1])
        old, new = before[head : len(before) - tail], self.cells[head : len(self.cells) - tail]
        start = before[head - 1].end + 1 if head else 0
        return Splice(start, start + len(_text(old)), _text(new))

    def cell(self, uri: str) -> Cell | None:
        """The cell with a URI, if it is in the module."""
        return next((cell for cell in self.cells if cell.uri == uri), None)

    def within(self, start: int, end: int) -> tuple[Cell, int, int] | None:
        """The cell that ``module[start:end]`` begins in, and the offsets in its text; None where there is no cell."""
        if not self.cells:
            return None
        cell = self.cells[self._index(start)]
        return cell, min(start, cell.end) - cell.start, min(end, cell.end) - cell.start

    def edit(self, splice: Splice) -> tuple[Cell, Splice] | None:
        """The edit of one cell that makes the same of the module; None where none does.

        Nothing that is blanked is replaced, and nothing is put above a magic that has to be the first of its cell.
        """
        if not self.cells:
            return None
        index = self._index(splice.start)
        cell, start, end, text = self.cells[index], splice.start, splice.end, splice.text
        if start == end and start == cell.start and cell.lines.text.lstrip().startswith("%%"):
            if index == 0:
                return None
            cell = self.cells[index - 1]
            start = end = cell.end + 1
        if start == end == cell.end + 1:
            start = end = cell.end
            text = "\n" + text.removesuffix("\n")
        elif end == cell.end + 1 and text.endswith("\n"):
            end, text = cell.end, text.removesuffix("\n")
        within = slice(start - cell.start, end - cell.start)
        if end > cell.end or cell.code[within] != cell.lines.text[within]:
            return None
        return cell, Splice(within.start, within.stop, text)

    def _index(self, offset: int) -> int:
        starts = [cell.start for cell in self.cells]
        return max(0, bisect.bisect_right(starts, offset) - 1)


def _placed(cells: Iterable[Cell]) -> Iterator[Cell]:
    start = 0
    for cell in cells:
        if cell.language == "python":
            yield dataclasses.replace(cell, start=start)
            start += len(cell.code) + 1


def _text(cells: Iterable[Cell]) -> str:
    return "".join(f"{cell.code}\n" for cell in cells)


def _alike(before: Sequence[Cell], after: Sequence[Cell]) -> int:
    """How many cells at the beginning have the same code."""
    pairs = zip(before, after, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0].code == pair[1].code, pairs))
