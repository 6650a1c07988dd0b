"""Inlay hints: the shapes of the values that a ``forward`` assigns and returns, if all traces of that code agree.

The positions are found in the text that was traced, and move with edits. A hint stays until its target is described
again, even if its statement is edited, unless the statement is deleted.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from lsprotocol import types

from fx_lsp.analysis.graph_descriptions import GraphDescription, GraphDescriptions
from fx_lsp.documents.documents import Documents, Place
from fx_lsp.documents.parse import parsed
from fx_lsp.documents.positions import LineIndex
from fx_lsp.server.features.client_places import ClientPlaces

_TYPED_AFTER_NAME, _TYPED_AFTER_VALUE = re.compile(r"\w*"), re.compile(r"[^#;\r\n]*")
"""What was typed after a name or a value since it was traced, and now belongs to it."""


@dataclass(frozen=True)
class Anchor:
    """A statement that assigns a value to a name, or returns a value, and thus may have a hint."""

    value: tuple[int, int]
    """The offsets of the value's expression."""
    statement: tuple[int, int]
    at: int
    """The offset of the hint: after the name or, if the value is returned, after the value."""
    arrow: bool
    """Whether the value is returned."""


@dataclass(frozen=True)
class Hint:
    """The hint for one anchor."""

    text: str
    inputs: tuple[str, ...]
    """The targets and inputs for which the hint is valid, e.g. ``Net, x: [2, 3, 64, 64]``."""
    arrow: bool
    target: Place
    """The place of the first of these targets."""


@functools.lru_cache(maxsize=64)
def anchors_of(text: str) -> tuple[Anchor, ...]:
    """The anchors of hints in a file's text; none if the text is not valid Python."""
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
    descriptions: GraphDescriptions, documents: Documents, places: ClientPlaces, uri: str, within: types.Range
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


def hints_of(descriptions: GraphDescriptions, documents: Documents, path: str) -> dict[int, Hint]:
    """The hints by offset in the current text, except where two traces disagree.

    Hints from a target that was built with invented arguments count only at offsets without a hint from a target that
    was built otherwise.
    """
    found: dict[int, list[Hint]] = {}
    sure: set[int] = set()
    text = documents.text(path) or ""
    for description in descriptions:
        for anchor, hint in _told(description, path):
            if (at := _offset_now(documents, path, text, anchor, description.snapshot.moment)) is not None:
                if not description.is_assumed:
                    sure.add(at)
                elif at in sure:
                    continue
                found.setdefault(at, []).append(hint)
    return {
        at: dataclasses.replace(hints[0], inputs=tuple(dict.fromkeys(given for hint in hints for given in hint.inputs)))
        for at, hints in found.items()
        if len({hint.text for hint in hints}) == 1
    }


def _offset_now(documents: Documents, path: str, text: str, anchor: Anchor, moment: int) -> int | None:
    """The offset of an anchor's hint in the current ``text``; None if its name or its value was deleted."""
    ahead = documents.around(Place(path, anchor.statement[0], anchor.at, moment))
    typed = ahead and (_TYPED_AFTER_VALUE if anchor.arrow else _TYPED_AFTER_NAME).match(text, ahead.end)
    return ahead.end + len(typed[0].rstrip()) if ahead and typed else None


def _told(description: GraphDescription, path: str) -> Iterator[tuple[Anchor, Hint]]:
    """The hints of one description in a file: one for each known value of an anchor's expression."""
    values = description.values.get(path, {})
    lines = description.snapshot.lines_of(path)
    if not values or lines is None:
        return
    by_ends = {(place.start, place.end): found for place, found in values.items()}
    given = f"{description.title}, {description.details.input}"
    for anchor in anchors_of(lines.text):
        for value in by_ends.get(anchor.value, ()):
            yield anchor, Hint(value.removesuffix(" float32"), (given,), anchor.arrow, description.place)
