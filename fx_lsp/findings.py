"""From what the agent reports to what a person is shown, and where."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from fx_lsp.agent.messages import Failure, Report, Span, Step, Target
from fx_lsp.directives import directives_of
from fx_lsp.documents import Place, Snapshot
from fx_lsp.links import Link, call_links, cause_links, expression_at, guess_link
from fx_lsp.rules import Rule, Severity, rule_for
from fx_lsp.selection import SEVERITIES, Selection
from fx_lsp.source_size import is_oversize, oversize


@dataclass(frozen=True)
class Finding:
    """A failure or a notice, at the place where a person can mend it."""

    failure: Failure
    message: str
    place: Place
    """The innermost frame in the workspace; the target itself for a failure that has none there."""
    links: tuple[Link, ...]
    """The other places that it has to do with: the calls that lead there, the cause, what was assumed."""
    targets: tuple[str, ...]
    """The titles of the targets that fail there."""
    moment: int
    """Of the text that was traced, which ``failure`` speaks of."""
    severity: Severity

    @property
    def rule(self) -> Rule:
        """The rule that speaks of it."""
        return rule_for(self.failure.kind)

    @property
    def line(self) -> str:
        """The message on one line."""
        return " ".join(self.message.split())

    @property
    def is_serious(self) -> bool:
        """Whether it is an error or a warning: an information or a hint tells of what is often meant."""
        return self.severity in ("error", "warning")

    @property
    def identity(self) -> tuple[str, int, int, str]:
        """Where it is and what kind: targets that fail alike there share one finding."""
        return self.place.path, self.place.start, self.place.end, self.failure.kind


def findings_of(
    target: Target, report: Report, snapshot: Snapshot, owned: Callable[[str], bool], selection: Selection
) -> list[Finding]:
    """The failures of one target, and its notices, as far as ``selection`` has their rules.

    ``owned`` says of a path whether it is the user's to mend; a notice elsewhere is none of theirs.
    """
    notices = [notice for notice in report.notices if owned(notice.chain[-1].span.file)]
    shown = (*report.failures, *notices)
    places = {failure.chain[-1].span: failure for failure in report.failures if failure.chain}
    found = [_finding(target, failure, places, snapshot, owned) for failure in shown]
    told = [finding for finding in found if finding and is_shown(finding, snapshot, selection)]
    intent = report.intent or target.intent
    return [dataclasses.replace(finding, severity=selection.severity(finding.rule, intent)) for finding in told]


def is_shown(finding: Finding, snapshot: Snapshot, selection: Selection) -> bool:
    """Whether ``selection`` has its rule, and no comment of its file says that it is ignored."""
    if finding.rule not in selection:
        return False
    lines = snapshot.lines_of(finding.place.path)
    if lines is None:
        return True
    first, last = (lines.position(offset, "utf-8").line + 1 for offset in (finding.place.start, finding.place.end))
    return not directives_of(lines.text).ignores(finding.rule.code, first, last)


def findings_in_text(path: str, snapshot: Snapshot, selection: Selection) -> tuple[Finding, ...]:
    """What the text of a file tells, if ``selection`` has the rule: comments that look like directives and are none;
    that it is too large."""
    found = []
    for failure in _in_text(path, snapshot):
        span = failure.chain[-1].span
        if place := snapshot.place(span):
            message, severity = _message(failure, snapshot, 0, None), selection.severity(rule_for(failure.kind))
            found.append(Finding(failure, message, place, (), (), snapshot.moment, severity))
    return tuple(finding for finding in found if finding.rule in selection)


def _in_text(path: str, snapshot: Snapshot) -> Iterator[Failure]:
    lines = snapshot.lines_of(path)
    if lines is None:
        return
    if is_oversize(lines.text):
        yield Failure("import", oversize(lines.text), (Step("", Span(path, 1, 0, 1, 1)),))
        return
    for mistake in directives_of(lines.text).mistakes:
        start, end = mistake.columns
        yield Failure("directive", mistake.reason, (Step("", Span(path, mistake.line, start, mistake.line, end)),))


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for each kind of failure at each place, naming all of its targets; in the order they were found.

    It is as grave as the gravest of them.
    """
    by_place: dict[tuple[str, int, int, str], Finding] = {}
    for finding in findings:
        first = by_place.setdefault(finding.identity, finding)
        if first is not finding:
            targets = tuple(dict.fromkeys(first.targets + finding.targets))
            severity = min(first.severity, finding.severity, key=SEVERITIES.index)
            by_place[finding.identity] = dataclasses.replace(first, targets=targets, severity=severity)
    return list(by_place.values())


def _finding(
    target: Target, failure: Failure, earlier: Mapping[Span, Failure], snapshot: Snapshot, owned: Callable[[str], bool]
) -> Finding | None:
    """The failure at its place; None when the file of the target is gone."""
    places = [snapshot.place(step.span) for step in failure.chain]
    own = [index for index, place in enumerate(places) if place and owned(place.path)]
    shown = own[-1] if own else None
    place = places[shown] if shown is not None else snapshot.place(target.span)
    if place is None:
        return None
    guess = guess_link(failure, earlier, snapshot)
    return Finding(
        failure=failure,
        message=_message(failure, snapshot, shown, guess),
        place=place,
        links=(
            *call_links(failure.chain, shown, snapshot),
            *cause_links(failure, snapshot),
            *([guess] if guess else ()),
        ),
        targets=(target.title,),
        moment=snapshot.moment,
        severity=rule_for(failure.kind).severity,
    )


def _message(failure: Failure, snapshot: Snapshot, shown: int | None, guess: Link | None) -> str:
    """The rule's sentence on the failing expression; where that is, if not here; the guess that led there."""
    last = failure.chain[-1] if failure.chain else None
    parts = [rule_for(failure.kind).message(failure, expression_at(last.span, snapshot) if last else "")]
    if last is not None and shown != len(failure.chain) - 1:
        where = f"{PurePath(last.span.file).name}, line {last.span.line}, in {last.name}"
        parts.append(f"It is reached from here: {where}.")
    if guess is not None:
        parts.append(f"(Found {guess.text}.)")
    return " ".join(parts)
