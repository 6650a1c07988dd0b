"""An agent that keeps its reports while a file is edited, and traces only those targets again that an edit may reach.

A report is kept if the target can't reach the edited code (``targets/reached_code.py``), nothing that the trace has
read has changed otherwise, and the other targets show that the file can still be imported.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import time
from collections.abc import AsyncGenerator, Collection, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from fx_lsp.agent.messages import Done, Outcome, Report, Trace
from fx_lsp.agent.wire import encode
from fx_lsp.documents.documents import on_disk
from fx_lsp.supervisor.agent_pool import TracingAgent
from fx_lsp.supervisor.cached_agent import CachedAgent, folders_searched, modified, text_digest
from fx_lsp.supervisor.passing_agent import PassingAgent
from fx_lsp.targets.reached_code import may_find, reached_code
from fx_lsp.workspace.file_digests import digest, modules_digest

log = logging.getLogger(__name__)

MOST_FILES = 50
"""How many files' reports are kept."""

_IMPORTED: tuple[Outcome, ...] = ("traced", "failed", "unchecked", "not-built", "skipped")
"""The outcomes that show that the file was imported."""

_OF_MACHINE: frozenset[Outcome] = frozenset({"timed-out", "out-of-memory", "crashed"})
"""The outcomes that may differ from one trace to the next."""

_OF_IMPORT = frozenset({"missing-package", "definitions-only", "import", "denied"})
"""The kinds of notices that say that the import had to do without something."""


@dataclass(frozen=True)
class _Kept:
    """The reports on one file."""

    surroundings: str
    """The digest of all that the traces have read besides the file."""
    dependencies: frozenset[str]
    reached: Mapping[str, str]
    """By the key of a target: the digest of the code and the targets that its report depends on."""
    reports: Mapping[str, Report]
    """The reports that would be the same if their targets were traced again."""


class KeepingAgent(PassingAgent):
    """Answers traces from the reports of the last trace of the same file where that is certain to be right.

    Passes everything else on to ``agent``.
    """

    def __init__(self, agent: TracingAgent) -> None:
        super().__init__(agent)
        self._kept: dict[str, _Kept] = {}
        self._unchecked: set[str] = set()
        """Files of which some of the latest answers were kept ones, or came from processes that were kept."""
        self._unprepared: set[str] = set()
        """Files of which no targets are built ahead."""
        self._latest: dict[str, tuple[str, Mapping[str, Report]]] = {}
        """By file: the digest of what was last asked about it, and the answers."""
        self.differences = 0
        """How many reports differed from those of a trace from the start; there should be none."""

    async def start(self) -> None:
        """Start the agent's process."""
        await self._agent.start()

    def forget(self, file: str) -> None:
        """Don't answer the next trace of ``file`` from earlier results."""
        self._kept.pop(file, None)
        self._latest.pop(file, None)
        self._unchecked.discard(file)
        self._unprepared.discard(file)
        if isinstance(self._agent, CachedAgent):
            self._agent.forget(file)

    def release(self, file: str) -> None:
        """Have the agent end the processes that it has kept for a file."""
        self._unchecked.discard(file)
        self._latest.pop(file, None)
        super().release(file)

    def is_unchecked(self, file: str) -> bool:
        """Whether a trace from the start has yet to confirm the latest reports on ``file``; see `check`."""
        return file in self._unchecked

    def is_prepared(self, file: str) -> bool:
        """Whether the next edit of ``file`` can be answered quickly, as far as is known; otherwise, `prepare` helps."""
        return file not in self._unprepared

    async def prepare(self, request: Trace) -> None:
        """Have targets built ahead for the next edit of a file whose reports are known."""
        ahead = dataclasses.replace(request, purpose="prepare")
        async with contextlib.aclosing(self._agent.trace(ahead)) as answers:
            async for answer in answers:
                if isinstance(answer, Done) and not answer.cancelled:
                    self._unprepared.discard(request.file)

    async def check(self, request: Trace) -> bool:
        """Trace from the start; return whether the latest reports are right, if that was in doubt for this request.

        The agent keeps the processes that do this, so that traces after the next edits can begin with them.
        """
        file = request.file
        asked, latest = self._latest.get(file, ("", {}))
        reports: dict[str, Report] = {}
        done = Done(request.id, cancelled=True)
        from_start = dataclasses.replace(request, purpose="confirm")
        async with contextlib.aclosing(self._agent.trace(from_start)) as answers:
            async for answer in answers:
                if isinstance(answer, Done):
                    done = answer
                else:
                    reports[answer.target] = answer
        if done.cancelled:
            return True
        in_doubt = file in self._unchecked and asked == _digest(request)
        self._unchecked.discard(file)
        self._unprepared.discard(file)
        return not in_doubt or self._are_equal(latest, reports)

    async def trace(self, request: Trace) -> AsyncGenerator[Report | Done, None]:
        """The reports of a trace; those that were kept come last."""
        began = time.time_ns()
        reached = _reached(request) if request.capture == "fx" and len(request.targets) > 1 else {}
        known = self._kept.get(request.file)
        kept = self._still_valid(request, reached, known) if known else {}
        reports: dict[str, Report] = {}
        dependencies: set[str] = set()
        quick = unprepared = False
        rounds = [[target.key for target in request.targets if target.key not in kept]]
        for keys in rounds:
            targets = tuple(item for item in request.targets if item.key in keys)
            some = dataclasses.replace(request, targets=targets, purpose="edit")
            done = Done(request.id, cancelled=True)
            async with contextlib.aclosing(self._agent.trace(some)) as answers:
                async for answer in answers:
                    if isinstance(answer, Done):
                        done = answer
                    else:
                        reports[answer.target] = answer
                        yield answer
            if done.cancelled:
                yield done
                return
            dependencies.update(done.dependencies)
            quick |= done.quick
            unprepared |= done.unprepared
            if kept and not (reports and all(map(_is_of_whole_file, reports.values()))):
                rounds.append([*kept])
                kept = {}
        for report in kept.values():
            yield report
        if kept and known:
            dependencies |= known.dependencies
        (self._unchecked.add if quick or kept else self._unchecked.discard)(request.file)
        if unprepared or known is None:
            self._unprepared.add(request.file)
        elif quick:
            self._unprepared.discard(request.file)
        self._latest[request.file] = _digest(request), {**reports, **kept}
        self._keep(request, reached, {**reports, **kept}, dependencies, began)
        yield Done(request.id, tuple(sorted(dependencies)))

    def _still_valid(self, request: Trace, reached: Mapping[str, str], known: _Kept) -> dict[str, Report]:
        """The reports in ``known`` that hold for ``request``, but never for its first target.

        Tracing that target shows what imports.
        """
        if not request.targets or known.surroundings != _surroundings(request, known.dependencies):
            return {}
        same = {key for key, code in reached.items() if known.reached.get(key) == code and key in known.reports}
        first = reached.get(request.targets[0].key)
        return {key: known.reports[key] for key in reached if key in same and reached[key] != first}

    def _keep(
        self,
        request: Trace,
        reached: Mapping[str, str],
        reports: Mapping[str, Report],
        dependencies: Collection[str],
        began: int,
    ) -> None:
        """Keep those reports that depend on nothing but code whose text has been known since the trace ``began``."""
        others = [file for file in dependencies if file != request.file]
        surroundings = _surroundings(request, others)
        lasting = {key for key, report in reports.items() if _lasts(report)}
        doubtful = {code for key, code in reached.items() if key not in lasting}
        usable = {key: report for key, report in reports.items() if key in reached and reached[key] not in doubtful}
        files = {request.file, *others}
        saved = any(modified(file) >= began for file in files - request.overlays.keys())
        if saved or any(_may_find_classes(request, file) for file in files):
            usable = {}
        self._kept.pop(request.file, None)
        self._kept[request.file] = _Kept(surroundings, frozenset(others), reached, usable)
        if len(self._kept) > MOST_FILES:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._latest.pop(oldest, None)

    def _are_equal(self, latest: Mapping[str, Report], reports: Mapping[str, Report]) -> bool:
        """Whether a trace from the start confirms the latest reports; each that it does not confirm is counted."""
        equal = True
        for key, report in latest.items():
            new = reports.get(key)
            if new is None or {report.outcome, new.outcome} & _OF_MACHINE:
                continue
            if _verdict(report) != _verdict(new):
                self.differences += 1
                equal = False
                log.warning("a report differs from one from the start: %s (%d so far)", key, self.differences)
        return equal


def _reached(request: Trace) -> dict[str, str]:
    """By the key of a target: the digest of all that decides about its report, except for other files."""
    text = _text(request, request.file)
    code = reached_code(text, request.targets) if text is not None else {}
    limits = dataclasses.replace(request.limits, at_once=0)
    together: dict[str, list[str]] = {}
    for target in request.targets:
        if target.key in code:
            asked = encode(dataclasses.replace(request, id=0, targets=(target,), overlays={}, limits=limits))
            together.setdefault(code[target.key], []).append(digest(asked))
    return {key: digest(text, *sorted(together[text])) for key, text in code.items()}


def _digest(request: Trace) -> str:
    """The digest of everything that is asked, and of the texts in the editor."""
    limits = dataclasses.replace(request.limits, at_once=0)
    targets = tuple(sorted(request.targets, key=lambda target: target.key))
    return digest(encode(dataclasses.replace(request, id=0, targets=targets, limits=limits)))


def _surroundings(request: Trace, dependencies: Collection[str]) -> str:
    """The digest of the files of the workspace that a trace has read, and of the names of modules beside them."""
    files = sorted(dependencies)
    folders = folders_searched({*files, request.file}, request.roots)
    return digest(*files, *(text_digest(request, file) for file in files), *map(modules_digest, folders))


def _may_find_classes(request: Trace, file: str) -> bool:
    """Whether ``file`` may import the traced file, and so find its classes without a mention in it."""
    path, text = PurePath(request.file), _text(request, file)
    if text is None or (path.name == "__init__.py" and file != request.file):
        return True
    parts = path.with_suffix("").parts if path.name != "__init__.py" else path.parent.parts
    roots = [PurePath(root).parts for root in request.roots]
    above = max((len(root) for root in roots if parts[: len(root)] == root), default=len(parts) - 2)
    return may_find(text, parts[above:] or parts[-1:])


def _text(request: Trace, file: str) -> str | None:
    if file in request.overlays:
        return request.overlays[file]
    lines = on_disk(file)
    return lines.text if lines else None


def _lasts(report: Report) -> bool:
    """Whether the report depends on nothing that was invented, missing, or decided by the computer's load."""
    is_certain = report.outcome in ("traced", "failed") and report.intent in ("explicit", "inferred")
    return is_certain and not report.partial and _is_of_whole_file(report)


def _is_of_whole_file(report: Report) -> bool:
    """Whether the report shows that the file was imported, and that the import did not have to do without anything."""
    return report.outcome in _IMPORTED and not any(notice.kind in _OF_IMPORT for notice in report.notices)


def _verdict(report: Report) -> Report:
    return dataclasses.replace(report, id=0, seconds=0.0, processor_seconds=0.0)
