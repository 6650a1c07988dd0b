"""The places related to a finding: the calls that lead to it, its cause, what was assumed before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fx_lsp.agent.messages import Failure, Span, Step
from fx_lsp.documents.documents import Place, Snapshot
from fx_lsp.documents.excerpt import quoted

MOST_CAUSES = 3
"""How many places between an input and the failure are linked: the first and the last few."""

_USES = ("star", "double-star", "index", "slice", "format", "operator")
"""Operations that need an answer about a value that the expression uses, as calls do; not about its own value."""

_USED = {"control-flow": "a condition evaluated by", "len": "the length needed by"}
"""The kind of a failure -> what the answer is about, if not about the value of the failing expression."""


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
    guess = earlier.get(failure.after)
    answer = failure.other_side or (guess.assumption if guess else "")
    if place is None or not expression or not answer:
        return None
    condition = "only if" if failure.other_side else "assuming that"
    subject = _answered(guess, expression) if guess else f"`{expression}`"
    return Link(f"{condition} {subject} {answer.removeprefix('it ')}", place)


def _answered(guess: Failure, expression: str) -> str:
    """What the program needed an answer about: the value of the failing expression, or a value that it uses."""
    is_call = bool(guess.operation) and expression.startswith(f"{guess.operation}(")
    used = f"{_USED.get(guess.kind, 'a value in')} " if is_call or guess.operation in _USES else ""
    return f"{used}`{expression}`"


def expression_at(span: Span, snapshot: Snapshot) -> str:
    """The source text of an expression, shortened if it is long; ``""`` if it can't be read."""
    lines = snapshot.lines_of(span.file)
    return quoted(lines, span) if lines else ""


def _within(inner: Span, outer: Span) -> bool:
    starts = (outer.line, outer.col) <= (inner.line, inner.col)
    ends = (inner.end_line, inner.end_col) <= (outer.end_line, outer.end_col)
    return inner.file == outer.file and starts and ends
