"""The places related to a finding: the calls that lead to it, its cause, what was assumed before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fx_lsp.agent.messages import Failure, Span, Step
from fx_lsp.documents.documents import Place, Snapshot
from fx_lsp.documents.excerpt import quoted
from fx_lsp.rules import called

MOST_CAUSES = 3
"""How many places between an input and the failure are linked: the first and the last few."""


@dataclass(frozen=True)
class Link:
    """A place, and how it is related to a finding."""

    text: str
    """e.g. ``called in `forward` ``."""
    place: Place


def call_links(chain: Sequence[Step], shown: int | None, snapshot: Snapshot) -> Iterator[Link]:
    """Links to the frames from the traced forward to the failure, except for the frame at index ``shown``."""
    for index, step in enumerate(chain):
        place = snapshot.place(step.span)
        if place and index != shown:
            yield Link(f"{'fails' if index == len(chain) - 1 else 'called'} in `{step.name}`", place)


def cause_links(failure: Failure, snapshot: Snapshot) -> Iterator[Link]:
    """Links to the places between an input and the value that failed, except for those in the failing expression."""
    failing = failure.chain[-1].span if failure.chain else None
    spans = [step.span for step in failure.cause if failing is None or not _within(step.span, failing)]
    if len(spans) > MOST_CAUSES:
        spans = [spans[0], *spans[1 - MOST_CAUSES :]]
    for span in spans:
        place, expression = snapshot.place(span), expression_at(span, snapshot)
        if place and expression:
            yield Link(f"the value depends on `{expression}`", place)


def guess_link(failure: Failure, earlier: Mapping[Span, Failure], snapshot: Snapshot) -> Link | None:
    """A link to the assumption that led the trace to a failure, if any; ``earlier``: the target's failures by place."""
    if failure.after is None:
        return None
    place, expression = snapshot.place(failure.after), expression_at(failure.after, snapshot)
    if place is None or not expression:
        return None
    if failure.other_side:
        return Link(f"only if `{expression}` {failure.other_side.removeprefix('it ')}", place)
    if failure.after not in earlier:
        return None
    guess = earlier[failure.after]
    assumed = guess.assumption.removeprefix("it ")
    if called(expression) == guess.operation:  # the called function required something of an argument
        return Link(f"assuming that an argument of `{expression}` {assumed}", place)
    return Link(f"assuming that `{expression}` {assumed}", place)


def expression_at(span: Span, snapshot: Snapshot) -> str:
    """The source text of an expression, shortened if it is long; ``""`` if it can't be read."""
    lines = snapshot.lines_of(span.file)
    return quoted(lines, span) if lines else ""


def _within(inner: Span, outer: Span) -> bool:
    starts = (outer.line, outer.col) <= (inner.line, inner.col)
    ends = (inner.end_line, inner.end_col) <= (outer.end_line, outer.end_col)
    return inner.file == outer.file and starts and ends
