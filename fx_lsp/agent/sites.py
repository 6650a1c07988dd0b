"""The failures of a program before and after an edit, told apart by the expression that fails: an edit moves lines.

Of what fails in a library the expression is the one in the workspace that leads there: how it fails may depend on what
the library was asked before.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import linecache
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from fxcore.explore import explore
from fxcore.failures import FailureKind, TraceFailure
from fxcore.source import SourceSpan

from .apart import Apart, Settled
from .build import Built, build_target
from .imports import lines_of
from .messages import Failure, Span, Target
from .seeds import seed
from .trace import DOUBTFUL, ImportedFile
from .tracers import tracer_for

Place = str
"""The expression that failed, however it is laid out."""

Owns = Callable[[str], bool]
"""Whether a file is part of the workspace."""

_Stop = tuple[FailureKind, "SourceSpan | None"]
"""A failure's kind and where it is in the workspace."""

Places = Counter[Place]
"""How many places there are of each sort."""

AnySpan = TypeVar("AnySpan", Span, SourceSpan)

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


def met(apart: Apart, built: Built, owns: Owns, examples: Mapping[str, Any]) -> Found:
    """The places on the way that the program takes for ``examples``, a value for each parameter. Raises `Settled`."""
    traceable = dataclasses.replace(built, tracer=tracer_for(built.tracer))
    first = apart(partial(_first_failure, traceable, owns))
    return NOWHERE if first is None else apart(partial(_explored, traceable, owns, first, examples))


def place_of(failure: Failure, owns: Owns) -> Place:
    """The place of a failure that was reported of the text that this process has imported."""
    return _expression(span_of(failure, owns))


def span_of(failure: Failure, owns: Owns) -> Span | None:
    """The innermost place of a failure that is in the workspace; where none is, the innermost of all."""
    return _innermost([step.span for step in failure.chain], owns)


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
    cut = place if len(place) <= LONGEST_SHOWN else f"{place[: LONGEST_SHOWN - 1]}…"
    return f"`{cut}`"


def _guessed(file: ImportedFile, target: Target, *, on_meta: bool) -> Found:
    owns = file.workspace.owns
    first = _first_failure(_built(file, target, on_meta), owns)
    if first is None:
        return NOWHERE
    found = _explored(_built(file, target, on_meta), owns, first)  # the trace may have left its mark on the other
    return dataclasses.replace(found, doubtful=on_meta and found.doubtful)


def _explored(built: Built, owns: Owns, first: _Stop, examples: Mapping[str, Any] | None = None) -> Found:
    """As in a report, the first failure is of the kind that a plain trace says."""
    exploration = explore(built.root, built.concrete_args, examples=examples, tracer=built.tracer)
    stops = [_stop(site.failure, owns) for site in exploration.sites]
    if stops and stops[0][1] == first[1]:
        stops[0] = first
    placed = [(_expression(span), kind, span) for kind, span in stops]
    return Found(
        Counter(place for place, _, _ in placed),
        Counter(place for at, (place, kind, _) in enumerate(placed) if at == 0 or kind is not FailureKind.EXCEPTION),
        frozenset((place, span.file, span.line) for place, _, span in placed if span),
        complete=exploration.graph is not None,
        doubtful=bool(stops) and stops[0][0] in DOUBTFUL,
    )


def _built(file: ImportedFile, target: Target, on_meta: bool) -> Built:
    seed()
    built = build_target(target, file.workspace.file, file.namespace, on_meta=on_meta)
    return dataclasses.replace(built, tracer=tracer_for(built.tracer))


def _first_failure(built: Built, owns: Owns) -> _Stop | None:
    """Where a plain trace ends; None where it does not fail."""
    try:
        built.tracer.trace(built.root, built.concrete_args)
    except TraceFailure as failure:
        return _stop(failure, owns)
    except Exception:
        return FailureKind.EXCEPTION, None
    return None


def _stop(failure: TraceFailure, owns: Owns) -> _Stop:
    return failure.kind, _innermost([frame.span for frame in failure.frames], owns)


def _innermost(spans: Sequence[AnySpan], owns: Owns) -> AnySpan | None:
    """The last of a failure's places that is in the workspace; where none is, the last."""
    own = [span for span in spans if owns(span.file)]
    return next(reversed(own or spans), None)


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
