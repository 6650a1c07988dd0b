"""The other places that a finding has to do with: the calls that lead there, its cause, what was assumed before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fx_lsp.agent.messages import Failure, Span, Step
from fx_lsp.documents import Place, Snapshot
from fx_lsp.excerpt import quoted
from fx_lsp.rules import called

MOST_CAUSES = 3
"""Of a longer way from an input to the failure its first place is linked, and so many of the last ones but one."""


@dataclass(frozen=True)
class Link:
    """A place, and what it has to do with a finding."""

    text: str
    """e.g. ``called in `forward` ``."""
    place: Place


def call_links(chain: Sequence[Step], shown: int | None, snapshot: Snapshot) -> Iterator[Link]:
    """The frames from the traced forward to the failure, all but the one at index ``shown``."""
    for index, step in enumerate(chain):
        place = snapshot.place(step.span)
        if place and index != shown:
            yield Link(f"{'fails' if index == len(chain) - 1 else 'called'} in `{step.name}`", place)


def cause_links(failure: Failure, snapshot: Snapshot) -> Iterator[Link]:
    """The places on the way from an input to the value that failed; not those within the failing expression."""
    failing = failure.chain[-1].span if failure.chain else None
    spans = [step.span for step in failure.cause if failing is None or not _within(step.span, failing)]
    if len(spans) > MOST_CAUSES:
        spans = [spans[0], *spans[1 - MOST_CAUSES :]]
    for span in spans:
        place, expression = snapshot.place(span), expression_at(span, snapshot)
        if place and expression:
            yield Link(f"it depends on `{expression}`", place)


def guess_link(failure: Failure, earlier: Mapping[Span, Failure], snapshot: Snapshot) -> Link | None:
    """The guess that a failure was reached on; ``earlier`` has the failures that were passed, by their places."""
    if failure.after is None or failure.after not in earlier:
        return None
    guess = earlier[failure.after]
    place, expression = snapshot.place(failure.after), expression_at(failure.after, snapshot)
    if place is None or not expression:
        return None
    if called(expression) == guess.operation:  # what was called asked something of a value that it was handed
        return Link(f"assuming of a value in `{expression}` that {guess.assumption}", place)
    return Link(f"assuming that `{expression}` {guess.assumption.removeprefix('it ')}", place)


def expression_at(span: Span, snapshot: Snapshot) -> str:
    """The source text of an expression, cut where it is long; ``""`` where it can't be read."""
    lines = snapshot.lines_of(span.file)
    return quoted(lines, span) if lines else ""


def _within(inner: Span, outer: Span) -> bool:
    starts = (outer.line, outer.col) <= (inner.line, inner.col)
    ends = (inner.end_line, inner.end_col) <= (outer.end_line, outer.end_col)
    return inner.file == outer.file and starts and ends
