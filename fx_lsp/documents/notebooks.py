"""Notebooks: the code cells of a notebook, in order, form one Python module.

In the module, each cell's text is followed by a newline, and what only IPython understands is replaced by text of the
same length, so that each character of a cell corresponds to one offset in the module.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fx_lsp.documents.ipython_magics import blanked
from fx_lsp.documents.positions import Change, Encoding, LineIndex


@dataclass(frozen=True)
class Cell:
    """A cell as the client has it, with its place in the module."""

    uri: str
    language: str
    version: int
    """The client's version of the cell."""
    lines: LineIndex
    """The cell's text."""
    code: str
    """The text as Python, of the same length."""
    start: int = 0
    """The offset in the module at which the cell begins."""

    @classmethod
    def of(cls, uri: str, language: str, version: int, text: str) -> Cell:
        """A cell with the given text, which has no place in a module yet."""
        return cls(uri, language, version, LineIndex(text), blanked(text))

    @property
    def end(self) -> int:
        """The offset in the module after the cell's last character."""
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
    """An edit that replaces ``module[start:end]`` with ``text``."""

    start: int
    end: int
    text: str


class Notebook:
    """The cells of one notebook. Changes to them take effect when `lay_out` is called."""

    def __init__(self) -> None:
        self.order: list[str] = []
        """The URIs of all cells, in order; those without an entry in ``texts`` are not code."""
        self.texts: dict[str, Cell] = {}
        """The code cells by URI."""
        self.cells: tuple[Cell, ...] = ()
        """The Python cells, in the order of the module."""

    @property
    def text(self) -> str:
        """The text of the module."""
        return _text(self.cells)

    def lay_out(self) -> Splice:
        """Build the module from the cells as they are now; return how its text changes."""
        before = self.cells
        self.cells = tuple(_placed(self.texts[uri] for uri in self.order if uri in self.texts))
        head = _alike(before, self.cells)
        tail = _alike(before[head:][::-1], self.cells[head:][::-1])
        old, new = before[head : len(before) - tail], self.cells[head : len(self.cells) - tail]
        start = before[head - 1].end + 1 if head else 0
        return Splice(start, start + len(_text(old)), _text(new))

    def cell(self, uri: str) -> Cell | None:
        """The cell with this URI; None if it is not in the module."""
        return next((cell for cell in self.cells if cell.uri == uri), None)

    def within(self, start: int, end: int) -> tuple[Cell, int, int] | None:
        """The cell in which ``module[start:end]`` begins, and the offsets in its text; None if there are no cells."""
        if not self.cells:
            return None
        cell = self.cells[self._index(start)]
        return cell, min(start, cell.end) - cell.start, min(end, cell.end) - cell.start

    def edit(self, splice: Splice) -> tuple[Cell, Splice] | None:
        """The edit of one cell that has the same effect on the module; None if no such edit is possible.

        The edit never replaces magics and other IPython syntax, and inserts nothing above a cell magic, which must come
        first in its cell.
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
    """The number of cells at the beginning of both sequences that have the same code."""
    pairs = zip(before, after, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0].code == pair[1].code, pairs))
