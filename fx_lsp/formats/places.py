"""Places as formats tell them."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote

from fx_lsp.agent.messages import Span
from fx_lsp.documents import Documents, Place
from fx_lsp.positions import LineIndex


def shown_path(path: str) -> str:
    """``path`` (absolute) as seen from the working directory."""
    try:
        return os.path.relpath(path)
    except ValueError:  # on another drive
        return path


def url_path(path: str) -> str:
    """``path`` (absolute) from the working directory as a relative URL."""
    return quote(shown_path(path).replace(os.sep, "/"))


def line_and_column(lines: LineIndex, offset: int) -> tuple[int, int]:
    """Where ``offset`` is for a person: both from 1, columns in characters."""
    line, character = lines.position(offset, "utf-32")
    return line + 1, character + 1


def ends(place: Place, documents: Documents) -> tuple[tuple[int, int], tuple[int, int]]:
    """Line and column of the place's start and of its end (exclusive), as `line_and_column` counts them."""
    lines = documents.lines(place.path) or LineIndex("")
    return line_and_column(lines, place.start), line_and_column(lines, place.end)


def place_of(span: Span, documents: Documents) -> Place:
    """The place of a span in a file that was read."""
    place = documents.snapshot().place(span)
    assert place is not None, "a fix is for a file that was read"
    return place


def protocol_location(place: Place, documents: Documents) -> dict[str, Any]:
    """Path and range; lines and UTF-16 characters count from 0, as in the Language Server Protocol."""
    lines = documents.lines(place.path) or LineIndex("")
    ends = {"start": lines.position(place.start, "utf-16"), "end": lines.position(place.end, "utf-16")}
    return {"path": shown_path(place.path), "range": {end: position._asdict() for end, position in ends.items()}}
