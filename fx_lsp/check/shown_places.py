"""Where a problem is, as the output of ``fx-lsp check`` shows it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from fx_lsp.agent.messages import Span
from fx_lsp.documents.documents import Documents, Place
from fx_lsp.documents.positions import LineIndex


def shown_path(path: str) -> str:
    """``path`` (absolute) as seen from the working directory."""
    try:
        return os.path.relpath(path)
    except ValueError:  # on another drive
        return path


def posix_path(path: str) -> str:
    """``path`` (absolute) as seen from the working directory, with slashes on every system."""
    return shown_path(path).replace(os.sep, "/")


def line_and_column(lines: LineIndex, offset: int) -> tuple[int, int]:
    """The line and column of ``offset`` as people count them: both from 1, columns in characters."""
    line, character = lines.position(offset, "utf-32")
    return line + 1, character + 1


@dataclass(frozen=True)
class Spot:
    """A place in a file or in one cell of a notebook, as it is shown to the user."""

    path: str
    """The path as returned by `shown_path`."""
    cell: str | None
    """The number of the cell, from 1; None outside notebooks."""
    lines: LineIndex
    start: int
    end: int

    @property
    def name(self) -> str:
        """The path and, in a notebook, the cell."""
        return f"{self.path}:cell {self.cell}" if self.cell else self.path


def spot(place: Place, documents: Documents) -> Spot:
    """``place`` in its file or, in a notebook, in its cell."""
    notebook = documents.notebooks.get(place.path)
    if notebook and (found := notebook.within(place.start, place.end)):
        cell, start, end = found
        return Spot(shown_path(place.path), cell.uri, cell.lines, start, end)
    lines = documents.lines(place.path) or LineIndex("")
    return Spot(shown_path(place.path), None, lines, place.start, place.end)


def ends(place: Place, documents: Documents) -> tuple[tuple[int, int], tuple[int, int]]:
    """Line and column of the place's start and of its end (exclusive), as `line_and_column` counts them."""
    here = spot(place, documents)
    return line_and_column(here.lines, here.start), line_and_column(here.lines, here.end)


def place_of(span: Span, documents: Documents) -> Place:
    """The place of a span in a file that was read."""
    place = documents.snapshot().place(span)
    assert place is not None, "a fix is for a file that was read"
    return place


def protocol_location(place: Place, documents: Documents) -> dict[str, Any]:
    """Path and range; lines and UTF-16 characters count from 0, as in the Language Server Protocol.

    In a notebook, the range is within a cell, whose number is included.
    """
    here = spot(place, documents)
    ends = {"start": here.lines.position(here.start, "utf-16"), "end": here.lines.position(here.end, "utf-16")}
    shown = {"path": here.path, "range": {end: position._asdict() for end, position in ends.items()}}
    return {**shown, "cell": int(here.cell)} if here.cell else shown
