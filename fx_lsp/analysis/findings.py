"""Turns the agent's reports into findings: the problems that the user is shown, and where."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from fx_lsp.agent.messages import Capture, Failure, Intent, Report, Span, Step, Target
from fx_lsp.analysis.related_places import Link, call_links, cause_links, expression_at, guess_link
from fx_lsp.documents.directives import directives_of
from fx_lsp.documents.documents import Place, Snapshot
from fx_lsp.documents.source_size import is_oversize, oversize
from fx_lsp.rules import Rule, Severity, rule_for
from fx_lsp.settings.rule_selection import SEVERITIES, Selection

Identity = tuple[str, int, int, str, Capture]
"""A path, the start and end of a place, a kind of failure, and a capture."""


@dataclass(frozen=True)
class Finding:
    """A failure or a notice, at the place where the user can fix it."""

    failure: Failure
    message: str
    place: Place
    """The innermost frame in the workspace; if there is none, the target itself."""
    links: tuple[Link, ...]
    """Related places: the calls that lead to the failure, its cause, what was assumed."""
    targets: tuple[str, ...]
    """The titles of the targets that fail at ``place``."""
    moment: int
    """The moment (see `Documents`) of the traced text, which the spans of ``failure`` refer to."""
    severity: Severity
    capture: Capture = "fx"
    """How the target was captured."""

    @property
    def rule(self) -> Rule:
        """The rule that explains the failure."""
        return rule_for(self.failure.kind)

    @property
    def line(self) -> str:
        """The message on one line, which ends with the capture if that is not symbolic tracing."""
        text = " ".join(self.message.split())
        return text if self.capture == "fx" else f"{text} [{self.capture}]"

    @property
    def is_serious(self) -> bool:
        """Whether the finding is an error or a warning; information and hints are often about intended behavior."""
        return self.severity in ("error", "warning")

    @property
    def identity(self) -> Identity:
        """The place and kind of the failure: targets that fail in the same way at the same place share one finding."""
        return self.place.path, self.place.start, self.place.end, self.failure.kind, self.capture


def findings_of(
    target: Target, report: Report, snapshot: Snapshot, owned: Callable[[str], bool], selection: Selection
) -> list[Finding]:
    """The failures and notices of one target whose rules are in ``selection``.

    ``owned`` returns whether a path is the user's own; notices in other files are left out.
    """
    notices = [notice for notice in report.notices if owned(notice.chain[-1].span.file)]
    shown = (*report.failures, *notices)
    places = {failure.chain[-1].span: failure for failure in report.failures if failure.chain}
    found = [_finding(target, failure, places, snapshot, owned) for failure in shown]
    if report.failures and report.unfinished and found[0]:
        more = f"{found[0].message} There may be more failures: {report.unfinished}."
        found[0] = dataclasses.replace(found[0], message=more)
    told = [finding for finding in found if finding and is_shown(finding, snapshot, selection)]
    intent = report.intent or target.intent
    return [dataclasses.replace(finding, severity=severity_of(finding, intent, selection)) for finding in told]


def severity_of(finding: Finding, intent: Intent, selection: Selection) -> Severity:
    """The severity of a finding; at most ``information`` if the failure occurs only when an assumption is wrong."""
    severity = selection.severity(finding.rule, intent)
    return max(severity, "information", key=SEVERITIES.index) if finding.failure.other_side else severity


def is_shown(finding: Finding, snapshot: Snapshot, selection: Selection) -> bool:
    """Whether the finding's rule is in ``selection``, and no comment in its file suppresses it."""
    if finding.rule not in selection:
        return False
    lines = snapshot.lines_of(finding.place.path)
    if lines is None:
        return True
    first, last = (lines.position(offset, "utf-8").line + 1 for offset in (finding.place.start, finding.place.end))
    return not directives_of(lines.text).ignores(finding.rule.code, first, last)


def findings_in_text(path: str, snapshot: Snapshot, selection: Selection) -> tuple[Finding, ...]:
    """The findings that a file's text shows without a trace, if their rules are in ``selection``.

    They concern comments that are not valid directives, and text that is too large to parse.
    """
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
    """One finding for each kind of failure at each place, with all of its targets, in the order they were found.

    A merged finding has the highest severity of the findings that it replaces.
    """
    by_place: dict[Identity, Finding] = {}
    for finding in findings:
        first = by_place.setdefault(finding.identity, finding)
        if first is not finding:
            targets = tuple(dict.fromkeys(first.targets + finding.targets))
            severity = min(first.severity, finding.severity, key=SEVERITIES.index)
            shown = finding if first.failure.other_side else first  # preferably one that is reached unconditionally
            by_place[finding.identity] = dataclasses.replace(shown, targets=targets, severity=severity)
    return list(by_place.values())


def _finding(
    target: Target, failure: Failure, earlier: Mapping[Span, Failure], snapshot: Snapshot, owned: Callable[[str], bool]
) -> Finding | None:
    """The finding for a failure; None if neither its place nor the target's file can be found."""
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
    """The rule's message, with the place of the failure if that is not the one shown, and the guess that led to it."""
    last = failure.chain[-1] if failure.chain else None
    parts = [rule_for(failure.kind).message(failure, expression_at(last.span, snapshot) if last else "")]
    if last is not None and shown != len(failure.chain) - 1:
        where = f"{PurePath(last.span.file).name}, line {last.span.line}, in {last.name}"
        parts.append(f"The failure is in code that is called from here: {where}.")
    if guess is not None:
        parts.append(f"({'Reached' if failure.other_side else 'Found after an earlier failure, by'} {guess.text}.)")
    return " ".join(parts)
