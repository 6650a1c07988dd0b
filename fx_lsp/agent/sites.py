"""The failures of a program before and after an edit, told apart by kind and expression: an edit moves lines."""

from __future__ import annotations

import ast
import dataclasses
import difflib
import linecache
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from fxcore.explore import explore
from fxcore.failures import FailureKind, TraceFailure
from fxcore.source import SourceSpan

from .apart import Apart, Settled
from .build import SEED, Built, build
from .imports import lines_of
from .messages import Failure, Span, Target
from .trace import DOUBTFUL, ImportedFile, tracer_for

Place = tuple[str, str]
"""A kind of failure and the expression that failed, however it is laid out."""

_Stop = tuple[FailureKind, "SourceSpan | None"]
"""A failure's kind and where it is."""

Places = Counter[Place]
"""How many places there are of each sort."""

LONGEST_SHOWN = 60
"""Characters of an expression in a reason."""


@dataclass(frozen=True)
class Found:
    """Where the trace of a target can't go through."""

    places: Places
    certain: Places
    """Those without what may owe itself to what was assumed before: an error of the program's own."""
    lines: frozenset[tuple[Place, str, int]]
    """Of each place the file and the line where it begins."""
    complete: bool
    """Whether the program was seen to its end."""
    doubtful: bool
    """Whether the first of them is of a kind that tensors without memory can be the reason for."""


NOWHERE = Found(Counter(), Counter(), frozenset(), complete=True, doubtful=False)
"""Of a program that traces."""


def explored(apart: Apart, file: ImportedFile, target: Target) -> Found:
    """The places of ``target``, as far as they can be guessed. Raises `Settled` where they can't be told."""
    try:
        found = apart(partial(_guessed, file, target, on_meta=True))
    except Settled:
        found = None
    if found is None or found.doubtful:
        found = apart(partial(_guessed, file, target, on_meta=False))
    return found


def met(apart: Apart, built: Built, examples: Mapping[str, Any]) -> Found:
    """The places on the way that the program takes for ``examples``, a value for each parameter. Raises `Settled`."""
    traceable = dataclasses.replace(built, tracer=tracer_for(built.tracer))
    first = apart(partial(_first_failure, traceable))
    return NOWHERE if first is None else apart(partial(_explored, traceable, first, examples))


def place_of(failure: Failure) -> Place:
    """The place of a failure that was reported of the text that this process has imported."""
    return failure.kind, _expression(failure.chain[-1].span if failure.chain else None)


def check_places(before: Found, after: Found, mended: Places, edited: Collection[tuple[str, int]]) -> None:
    """Raises `Settled` unless ``mended``, a part of ``before``, are gone ``after`` the edit, and none is new.

    Behind the end of what was seen before, a place is new only if it begins in a line that is ``edited``.
    """
    for place, count in mended.items():
        if after.places[place] > before.places[place] - count:
            raise Settled("refuted", f"{_shown(place)} still fails")
    new = set(after.certain - before.places)
    if not before.complete:
        new &= {place for place, file, line in after.lines if (file, line) in edited}
    if new:
        raise Settled("refuted", f"{_shown(min(new))} fails then")


def edited_lines(old: str, new: str) -> set[int]:
    """The lines of ``new`` (from 1) that are not in ``old``."""
    matcher = difflib.SequenceMatcher(None, lines_of(old), lines_of(new), autojunk=False)
    return {
        line + 1 for kind, _, _, start, end in matcher.get_opcodes() if kind != "equal" for line in range(start, end)
    }


def _shown(place: Place) -> str:
    _, expression = place
    cut = expression if len(expression) <= LONGEST_SHOWN else f"{expression[: LONGEST_SHOWN - 1]}…"
    return f"`{cut}`"


def _guessed(file: ImportedFile, target: Target, *, on_meta: bool) -> Found:
    first = _first_failure(_built(file, target, on_meta))
    if first is None:
        return NOWHERE
    found = _explored(_built(file, target, on_meta), first)  # the trace may have left its mark on the other
    return dataclasses.replace(found, doubtful=on_meta and found.doubtful)


def _explored(built: Built, first: _Stop, examples: Mapping[str, Any] | None = None) -> Found:
    """As in a report, the first failure is of the kind that a plain trace says."""
    exploration = explore(built.root, built.concrete_args, examples=examples, tracer=built.tracer)
    stops = [(site.failure.kind, site.failure.span) for site in exploration.sites]
    if stops and stops[0][1] == first[1]:
        stops[0] = first
    placed = [((kind.value, _expression(span)), span) for kind, span in stops]
    places = [place for place, _ in placed]
    return Found(
        Counter(places),
        Counter(places[:1] + [place for place in places[1:] if place[0] != FailureKind.EXCEPTION.value]),
        frozenset((place, span.file, span.line) for place, span in placed if span),
        complete=exploration.graph is not None,
        doubtful=bool(stops) and stops[0][0] in DOUBTFUL,
    )


def _built(file: ImportedFile, target: Target, on_meta: bool) -> Built:
    torch.manual_seed(SEED)
    built = build(target.recipe, file.workspace.file, file.namespace, on_meta=on_meta)
    return dataclasses.replace(built, tracer=tracer_for(built.tracer))


def _first_failure(built: Built) -> _Stop | None:
    """Where a plain trace ends; None where it does not fail."""
    try:
        built.tracer.trace(built.root, built.concrete_args)
    except TraceFailure as failure:
        return failure.kind, failure.span
    except Exception:
        return FailureKind.EXCEPTION, None
    return None


def _expression(span: Span | SourceSpan | None) -> str:
    if span is None:
        return ""
    lines = [line.encode() for line in linecache.getlines(span.file)[span.line - 1 : span.end_line]]
    if not lines:
        return ""
    lines[-1] = lines[-1][: span.end_col]
    lines[0] = lines[0][span.col :]
    text = b"".join(lines).decode(errors="replace")
    try:
        return ast.unparse(ast.parse(f"({text})", mode="eval"))
    except (SyntaxError, ValueError):
        return " ".join(text.split())
