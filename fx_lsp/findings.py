"""From what the agent reports to what a person is shown, and where."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import PurePath

from fx_lsp.agent.messages import Failure, Report, Step, Target
from fx_lsp.documents import Place, Snapshot
from fx_lsp.excerpt import quoted
from fx_lsp.rules import rule_for

ALL_NOTICES = "all"
"""Stands for the codes of all notices."""


@dataclass(frozen=True)
class Link:
    """A frame on the way from the traced forward to the failure."""

    name: str
    """The function's."""
    place: Place
    fails: bool = False
    """Whether it is the failing place itself, which is in a file that is not the user's to mend."""


@dataclass(frozen=True)
class Finding:
    """A failure or a notice, at the place where a person can mend it."""

    failure: Failure
    message: str
    place: Place
    """The innermost frame in the workspace; the target itself for a failure that has none there."""
    links: tuple[Link, ...]
    """All other frames, the traced forward first."""
    targets: tuple[str, ...]
    """The titles of the targets that fail there."""
    moment: int
    """Of the text that was traced, which ``failure`` speaks of."""


def findings_of(
    target: Target,
    report: Report,
    snapshot: Snapshot,
    owned: Callable[[str], bool],
    notices: Collection[str] = (),
) -> list[Finding]:
    """The failures of one target, and its notices.

    ``owned`` says of a path whether it is the user's to mend; a notice elsewhere is none of theirs. ``notices``: the
    codes of those that are wanted beside the ones that are on by default, or ``all``.
    """
    shown = [notice for notice in report.notices if _is_wanted(notice, notices) and owned(notice.chain[-1].span.file)]
    found = [_finding(target, failure, snapshot, owned) for failure in (*report.failures, *shown)]
    return [finding for finding in found if finding]


def _is_wanted(notice: Failure, notices: Collection[str]) -> bool:
    rule = rule_for(notice.kind)
    return rule.default_on or rule.code in notices or ALL_NOTICES in notices


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for each kind of failure at each place, naming all of its targets; in the order they were found."""
    by_place: dict[tuple[str, int, int, str], Finding] = {}
    for finding in findings:
        place = finding.place
        key = (place.path, place.start, place.end, finding.failure.kind)
        first = by_place.setdefault(key, finding)
        if first is not finding:
            targets = tuple(dict.fromkeys(first.targets + finding.targets))
            by_place[key] = dataclasses.replace(first, targets=targets)
    return list(by_place.values())


def _finding(target: Target, failure: Failure, snapshot: Snapshot, owned: Callable[[str], bool]) -> Finding | None:
    """The failure at its place; None when the file of the target is gone."""
    chain = [(step, snapshot.place(step.span)) for step in failure.chain]
    own = [index for index, (step, place) in enumerate(chain) if place and owned(step.span.file)]
    shown = own[-1] if own else None
    place = chain[shown][1] if shown is not None else snapshot.place(target.span)
    if place is None:
        return None
    last = len(chain) - 1
    links = [Link(step.name, at, index == last) for index, (step, at) in enumerate(chain) if at and index != shown]
    return Finding(
        failure=failure,
        message=_message(failure, snapshot, shown),
        place=place,
        links=tuple(links),
        targets=(target.title,),
        moment=snapshot.moment,
    )


def _message(failure: Failure, snapshot: Snapshot, shown: int | None) -> str:
    """The rule's sentence on the failing expression, and where that is when it is not where the message is shown."""
    last = failure.chain[-1] if failure.chain else None
    message = rule_for(failure.kind).message(failure, _expression(last, snapshot))
    if last is None or shown == len(failure.chain) - 1:
        return message
    return f"{message} It is reached from here: {PurePath(last.span.file).name}, line {last.span.line}, in {last.name}."


def _expression(step: Step | None, snapshot: Snapshot) -> str:
    lines = snapshot.lines_of(step.span.file) if step else None
    return quoted(lines, step.span) if step and lines else ""
