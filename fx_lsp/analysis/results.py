"""The latest results of every file: its targets, the reports on them, and its findings' places in the current text."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from fx_lsp.agent.messages import Capture, Failure, Report, Span, Target
from fx_lsp.analysis.findings import Finding, findings_in_text, findings_of, is_shown
from fx_lsp.analysis.judged_captures import judged, judged_captures
from fx_lsp.documents.documents import Documents, Place, Snapshot
from fx_lsp.settings.rule_selection import Selection
from fx_lsp.settings.settings import Settings
from fx_lsp.targets.capture_uses import CaptureUses
from fx_lsp.targets.workspace_recipes import lacks_own_recipe
from fx_lsp.workspace.workspace import Workspace

_OF_IMPORT = ("import", "missing-package")
"""The kinds of failures and notices about what could not be imported."""

_WORD = re.compile(r"\w+")

_ENDED = ("time-limit", "memory-limit", "crash")
"""The kinds of failure with which any capture can end."""


@dataclass(frozen=True)
class Traced:
    """A target and the latest report on it."""

    target: Target
    place: Place
    """The target's span."""
    report: Report | None = None
    """None until the first report arrives."""
    findings: tuple[Finding, ...] = ()
    kept: tuple[Finding, ...] = ()
    """While the report is partial: findings of earlier reports, beyond the first failure, that may still be valid.

    Their text may have been edited since."""

    @property
    def was_traced(self) -> bool:
        """Whether the target was traced, to its end or to a failure."""
        return self.report is not None and self.report.outcome in ("traced", "failed")

    @property
    def may_be_captured(self) -> bool:
        """Whether there is something to capture: not if the trace found no program, or if the import failed."""
        return self.report is not None and self.report.outcome not in ("skipped", "not-imported")


@dataclass
class FileResult:
    """The latest result of one file."""

    traced: dict[str, Traced] = field(default_factory=dict)
    """By the target's key, in the order of the file."""
    mistakes: tuple[Finding, ...] = ()
    """Findings in the text itself, e.g. comments that are not valid fx-lsp directives."""
    unmet: dict[str, tuple[Finding, ...]] = field(default_factory=dict)
    """By the target's key: the expected costs that it exceeds."""
    captured: dict[tuple[str, Capture], Traced] = field(default_factory=dict)
    """By the target's key and the capture: the results of captures other than symbolic tracing."""
    dependencies: frozenset[str] = frozenset()
    """The other files of the workspace that were imported to trace this one."""
    parses: bool = True
    """Whether the current text is valid Python; if not, there are no newer results than those for an earlier text."""
    moment: int | None = None
    """The moment (see `Documents`) of the text that all of its targets were traced at; None while some are not."""

    @property
    def all_traced(self) -> Iterator[Traced]:
        """What is known about each target with each capture."""
        # A copy: threads that look for fixes ask for it while reports arrive.
        yield from [*self.traced.values(), *self.captured.values()]

    @property
    def findings(self) -> Iterator[Finding]:
        """Every finding of the file's targets and text, at its place in the text that was traced."""
        yield from self.mistakes
        for traced in self.all_traced:
            yield from traced.findings
            yield from traced.kept
        for unmet in self.unmet.values():
            yield from unmet


class Results(dict[str, FileResult]):
    """The result of each file, by path. Only the scheduler changes the results."""

    def __init__(
        self, documents: Documents, workspace: Workspace, settings_of: Callable[[str], Settings], uses: CaptureUses
    ) -> None:
        super().__init__()
        self._documents = documents
        self._workspace = workspace
        self._settings_of = settings_of
        self._uses = uses

    def captures_of(self, target: Target) -> tuple[Capture, ...]:
        """The captures whose failures are shown as problems of a target."""
        return judged_captures(self._settings_of(target.span.file).captures, self._uses.of(target))

    def captured(self, path: str, key: str) -> dict[Capture, Traced]:
        """What is known about the captures of a target other than symbolic tracing."""
        return {capture: known for (of, capture), known in self[path].captured.items() if of == key}

    def counting(self, path: str) -> Iterator[tuple[Capture, Traced]]:
        """What is known about each target of a file with each capture whose failures are its problems."""
        result = self.get(path) or FileResult()
        for key, traced in list(result.traced.items()):  # a copy, as in `all_traced`
            for capture in self.captures_of(traced.target):
                if capture == "fx":
                    yield capture, traced
                elif known := result.captured.get((key, capture)):
                    yield capture, known

    def findings(self, files: Collection[str] | None = None) -> Iterator[Finding]:
        """Every finding in one of ``files`` (None: in any file), at its place in the current text.

        Leaves out findings whose text was edited, and those of captures that don't count for their targets.
        """
        yield from self._standing(finding for path in self for finding in self._judged(path, files))

    def shown(self, files: Collection[str]) -> Iterator[Finding]:
        """The findings in ``files`` to show: also those whose text was edited, until a new trace reaches that text.

        Until its target is traced again, an edited finding keeps its message, and follows its text. If another target
        is traced first and fails there too, that finding replaces it. A finding that a file has reported in another one
        is dropped if no new trace of the reporting file is to be expected, since its text does not parse.
        """
        standing, edited = [], []
        for path, result in self.items():
            for finding in self._judged(path, files):
                if now := self._documents.now(finding.place):
                    standing.append(dataclasses.replace(finding, place=now))
                elif (around := self._documents.around(finding.place)) and (result.parses or around.path == path):
                    edited.append(dataclasses.replace(finding, place=around))
        yield from standing
        for finding in edited:
            newer = [new for new in standing if new.moment > finding.moment and new.place.touches(finding.place)]
            if not newer:
                yield finding
            yield from (dataclasses.replace(new, targets=finding.targets) for new in newer if new.rule is finding.rule)

    def is_current(self, path: str) -> bool:
        """Whether everything that is known about ``path`` was found in the current texts."""
        return self.is_traced(path) and all(map(self.is_traced, self.dependants(path)))

    def is_traced(self, path: str) -> bool:
        """Whether a file was fully traced, and neither it nor a file that it imports was edited since then."""
        result = self.get(path)
        if result is None or result.moment is None:
            return False
        return not any(self._documents.changed_since(file, result.moment) for file in (path, *result.dependencies))

    def files_concerned(self, path: str) -> set[str]:
        """The files whose diagnostics may change with the text or the result of ``path``.

        These are the file itself, those in which its result has findings, and those whose findings link to it.
        """
        own = {finding.place.path for finding in self[path].findings} if path in self else set()
        linking = {
            finding.place.path
            for result in self.values()
            for finding in result.findings
            if any(link.place.path == path for link in finding.links)
        }
        return {path} | own | linking

    def owner(self, failure: Failure) -> tuple[str, Traced] | None:
        """The first target that was reported to have ``failure``, and its file; None if there is none."""
        return next(self._reported(failure), None)

    def calls_with(self, failure: Failure) -> tuple[Span, ...]:
        """The workspace's own calls, e.g. of ``symbolic_trace``, that trace a program reported to have ``failure``.

        A fix can edit these calls instead of the program.
        """
        return tuple(traced.target.span for _, traced in self._reported(failure) if traced.target.intent == "explicit")

    def dependants(self, path: str) -> list[str]:
        """The files that imported ``path`` when they were last traced."""
        return [other for other, result in self.items() if path in result.dependencies]

    def lacking(self, names: Collection[str]) -> list[str]:
        """The files whose import had to do without something that has one of these ``names``: parts of dotted names."""
        return [
            path
            for path, result in self.items()
            if any(traced.report and _lacks(traced.report, names) for traced in result.traced.values())
        ]

    def needing_recipes(self, names: Collection[str]) -> list[str]:
        """The files that contain a class with one of these names but don't themselves show how to build it."""
        return [
            path
            for path, result in self.items()
            if any(
                lacks_own_recipe(traced.target) and traced.target.symbol in names for traced in result.traced.values()
            )
        ]

    def keep_targets(self, path: str, targets: Sequence[Target], snapshot: Snapshot, *, with_mistakes: bool) -> None:
        """Record the targets of a file, whose results are kept until their next reports.

        ``with_mistakes``: also record the findings in the text itself.
        """
        result = self.setdefault(path, FileResult())
        selection = self._settings_of(path).selection
        result.mistakes = findings_in_text(path, snapshot, selection) if with_mistakes else ()
        result.moment, result.parses = None, True
        before, result.traced = result.traced, {}
        gone = [before[key] for key in before.keys() - {target.key for target in targets}]
        for target in targets:
            if place := snapshot.place(target.span):
                last = before.get(target.key) or self._replaced(place, gone) or Traced(target, place)
                result.traced[target.key] = dataclasses.replace(last, target=target, place=place)
        result.captured = {id: known for id, known in result.captured.items() if id[0] in result.traced}

    def keep_report(self, path: str, report: Report, snapshot: Snapshot) -> None:
        """Record a report on a target of a file; ``snapshot`` has the texts that were traced."""
        traced = self[path].traced
        last = traced[report.target]
        roots = self._workspace.roots_of(path)
        selection = self._settings_of(path).selection
        findings = findings_of(last.target, report, snapshot, lambda file: self._workspace.owns(file, roots), selection)
        kept = self._behind(findings, last, selection) if report.partial else ()
        traced[report.target] = Traced(last.target, last.place, report, tuple(findings), kept)

    def complete(self, path: str, snapshot: Snapshot) -> None:
        """Record that every target of a file was traced; ``snapshot`` has the texts that were traced."""
        self[path].moment = snapshot.moment

    def keep_capture(self, path: str, capture: Capture, report: Report, snapshot: Snapshot) -> None:
        """Record a report on another capture of a target that was traced; ``snapshot`` has the captured texts.

        What the report says about the import or the build is left out, since the trace has said the same.
        """
        traced, roots = self[path].traced[report.target], self._workspace.roots_of(path)
        selection = self._settings_of(path).selection
        found = findings_of(traced.target, report, snapshot, lambda file: self._workspace.owns(file, roots), selection)
        own = tuple(
            dataclasses.replace(finding, capture=capture)
            for finding in found
            if finding.rule.capture == capture or finding.failure.kind in _ENDED
        )
        last = self[path].captured.get((report.target, capture))
        kept = self._behind(own, last, selection) if last and report.partial else ()
        self[path].captured[report.target, capture] = Traced(traced.target, traced.place, report, own, kept)

    def keep_unmet(self, path: str, key: str, findings: tuple[Finding, ...]) -> None:
        """Record which expected costs a target of a file exceeds."""
        self[path].unmet[key] = findings

    def outdate(self, path: str) -> None:
        """Record that something has changed on which the results of a file, if there are any, may depend."""
        if path in self:
            self[path].moment = None

    def note_unparsable(self, path: str) -> None:
        """Record that the text of a file is not valid Python, so that its last results stay."""
        if path in self:
            self[path].parses = False

    def drop_capture(self, path: str, key: str, capture: Capture) -> None:
        """Drop what is known about a capture of a target, which is no longer made."""
        self[path].captured.pop((key, capture), None)

    def drop_kept(self, path: str) -> bool:
        """Drop the `Traced.kept` findings of a file, because no more reports will come that could confirm them.

        Returns whether there were any.
        """
        result = self.get(path) or FileResult()
        keeping = [key for key, item in result.traced.items() if item.kept]
        for key in keeping:
            result.traced[key] = dataclasses.replace(result.traced[key], kept=())
        captures = [id for id, item in result.captured.items() if item.kept]
        for id in captures:
            result.captured[id] = dataclasses.replace(result.captured[id], kept=())
        return bool(keeping or captures)

    def _judged(self, path: str, files: Collection[str] | None) -> Iterator[Finding]:
        """The findings of a file's targets and text in ``files`` (None: in any file) that are problems to the user."""
        result = self[path]
        of_any_capture = itertools.chain(result.mistakes, *result.unmet.values())
        yield from (finding for finding in of_any_capture if files is None or finding.place.path in files)
        settings = None
        for traced in result.all_traced:
            found = [item for item in (*traced.findings, *traced.kept) if files is None or item.place.path in files]
            if found and traced.report:
                settings = settings or self._settings_of(path)
                use = self._uses.of(traced.target)
                intent = traced.report.intent or traced.target.intent
                yield from filter(None, (judged(finding, intent, use, settings) for finding in found))

    def _reported(self, failure: Failure) -> Iterator[tuple[str, Traced]]:
        for path, result in list(self.items()):
            for traced in result.all_traced:
                if traced.report is not None and failure in traced.report.failures:
                    yield path, traced

    def _replaced(self, place: Place, gone: list[Traced]) -> Traced | None:
        """The target that an edit has turned into the one at ``place``, taken from those that are ``gone``."""
        for at, old in enumerate(gone):
            if (now := self._documents.around(old.place)) and now.touches(place):
                return gone.pop(at)
        return None

    def _standing(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        for finding in findings:
            if now := self._documents.now(finding.place):
                yield dataclasses.replace(finding, place=now)

    def _behind(self, found: Iterable[Finding], last: Traced, selection: Selection) -> tuple[Finding, ...]:
        """The findings of the last report that come after those just ``found`` and may still be valid."""
        if not last.was_traced:
            return ()
        snapshot, places = self._documents.snapshot(), [item.place for item in self._standing(found)]
        known = [(item, now) for item in (*last.findings, *last.kept) if (now := self._documents.around(item.place))]
        again = [any(map(now.touches, places)) for _, now in known]
        # The trace has passed what came before a failure that was found again.
        passed = again.index(True) + 1 if True in again else 0
        return tuple(
            item
            for (item, now), is_again in zip(known[passed:], again[passed:], strict=True)
            if not is_again
            and self._documents.is_open(item.place.path)
            and is_shown(dataclasses.replace(item, place=now), snapshot, selection)
        )


def _lacks(report: Report, names: Collection[str]) -> bool:
    """Whether the import of the traced file had to do without something that has one of ``names`` in its own."""
    missed = [failure for failure in (*report.failures, *report.notices) if failure.kind in _OF_IMPORT]
    return any(not set(_WORD.findall(failure.error)).isdisjoint(names) for failure in missed)
