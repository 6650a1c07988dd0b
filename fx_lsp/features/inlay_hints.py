"""The shapes of what a forward assigns and returns, in its text, as far as all traces that came by agree.

The places are found in the text that was traced, and move with edits: a hint goes when its statement is edited.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from lsprotocol import types

from fx_lsp.descriptions import Description, Descriptions
from fx_lsp.documents import Documents, Place
from fx_lsp.features.places import ClientPlaces
from fx_lsp.positions import LineIndex
from fx_lsp.syntax import parsed

_ENDED = re.compile(r"[ \t]*(?:[#;\r\n]|\Z)")
"""What may follow a statement: where anything else does, the statement goes on, though none of it was edited."""


@dataclass(frozen=True)
class Anchor:
    """A statement that gives a value a name, or returns it."""

    value: tuple[int, int]
    """Where the expression stands, as offsets."""
    statement: tuple[int, int]
    at: int
    """Where a hint belongs: behind the name, or behind the value."""
    arrow: bool
    """Whether it is returned."""


@dataclass(frozen=True)
class Hint:
    """What is known at one place."""

    text: str
    inputs: tuple[str, ...]
    """What it holds for, e.g. ``Net, x: [2, 3, 64, 64]``; one for each target."""
    arrow: bool
    target: Place
    """Where what was traced stands: the first such."""


@functools.lru_cache(maxsize=64)
def anchors_of(text: str) -> tuple[Anchor, ...]:
    """The places for hints in a text; none where it is not Python."""
    tree, lines = parsed(text), LineIndex(text)
    return tuple(anchor for node in ast.walk(tree) if (anchor := _anchor(node, lines))) if tree else ()


def _anchor(node: ast.AST, lines: LineIndex) -> Anchor | None:
    match node:
        case (
            ast.Assign(targets=[ast.Name() as name], value=value)
            | ast.AnnAssign(target=ast.Name() as name, value=ast.expr() as value)
        ):
            return Anchor(_ends(value, lines), _ends(node, lines), _ends(name, lines)[1], arrow=False)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Name):
            return Anchor(_ends(value, lines), _ends(node, lines), _ends(value, lines)[1], arrow=True)
    return None


def _ends(node: ast.expr | ast.stmt, lines: LineIndex) -> tuple[int, int]:
    start = lines.offset_of_python(node.lineno, node.col_offset)
    return start, lines.offset_of_python(node.end_lineno or node.lineno, node.end_col_offset or 0)


def inlay_hints(
    descriptions: Descriptions, documents: Documents, places: ClientPlaces, uri: str, within: types.Range
) -> list[types.InlayHint]:
    """The hints in a range of a document."""
    path, start, end = places.path(uri), places.offset(uri, within.start), places.offset(uri, within.end)
    if path is None or start is None or end is None:
        return []
    hints = []
    for at, hint in hints_of(descriptions, documents, path).items():
        if start <= at <= end and (here := places.here(path, at, at)):
            text = f" → {hint.text}" if hint.arrow else f": {hint.text}"
            tooltip = f"While tracing {'; '.join(hint.inputs)}"
            label = types.InlayHintLabelPart(text, location=places.location(hint.target))
            hints.append(types.InlayHint(here.range.start, [label], types.InlayHintKind.Type, tooltip=tooltip))
    return hints


def hints_of(descriptions: Descriptions, documents: Documents, path: str) -> dict[int, Hint]:
    """By offset in the text as it is now, what is known there; not where two traces differ.

    A trace of something that was built with made up arguments counts only where no other comes by.
    """
    found: dict[int, list[Hint]] = {}
    sure: set[int] = set()
    text = documents.text(path) or ""
    for description in descriptions:
        for anchor, hint in _told(description, path):
            moment = description.snapshot.moment
            statement = documents.now(Place(path, *anchor.statement, moment))
            if statement is not None and _ENDED.match(text, statement.end):
                at = anchor.at + statement.start - anchor.statement[0]
                if not description.is_assumed:
                    sure.add(at)
                elif at in sure:
                    continue
                found.setdefault(at, []).append(hint)
    return {at: _together(hints) for at, hints in found.items() if len({hint.text for hint in hints}) == 1}


def _told(description: Description, path: str) -> Iterator[tuple[Anchor, Hint]]:
    """What one description says at the places of a file: one hint for each node."""
    values = description.values.get(path, {})
    lines = description.snapshot.lines_of(path)
    if not values or lines is None:
        return
    by_ends = {(place.start, place.end): found for place, found in values.items()}
    given = f"{description.title}, {description.details.input}"
    for anchor in anchors_of(lines.text):
        for value in by_ends.get(anchor.value, ()):
            yield anchor, Hint(value.removesuffix(" float32"), (given,), anchor.arrow, description.place)


def _together(hints: list[Hint]) -> Hint:
    given = dict.fromkeys(given for hint in hints for given in hint.inputs)
    return dataclasses.replace(hints[0], inputs=tuple(given))
