"""Applies fixes to many files, in memory, until no proven fix is left; writing the files is a separate step."""

from __future__ import annotations

import tokenize
from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from fx_lsp.agent.messages import Span
from fx_lsp.analysis.fix_combinations import FixCombinations, Identity
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.analysis.worker_tasks import run_workers
from fx_lsp.documents.documents import on_disk
from fx_lsp.fixes import Fix
from fx_lsp.fixes.editing.text_edits import applied

MOST_ROUNDS = 10
"""The maximum number of rounds: the fixes of one round may reveal new failures, which the next round can fix."""


async def mend(
    scheduler: Scheduler,
    combinations: FixCombinations,
    files: Sequence[str],
    *,
    trace: Callable[[str], Awaitable[object]],
    unproven: bool,
    jobs: int = 1,
    progress: Callable[[int, int, str], None] = lambda done, of, file: None,
) -> dict[str, str]:
    """In memory, fix failures in ``files``, which have been traced. Returns path -> new text for each changed file.

    ``trace`` traces an edited file again, and makes the captures that count for its targets. Afterwards, ``scheduler``
    has the results for the new texts. ``unproven``: also apply fixes that could not be tried, but no fix that was
    refuted. ``jobs`` edits are tried at a time, if possible in different files; ``progress`` is called with the number
    of files that are done, the number of all, and the file that is next.
    """
    changed: dict[str, str] = {}
    given_up: dict[str, set[Identity]] = {file: set() for file in files}
    settled: set[str] = set()
    for _ in range(MOST_ROUNDS):
        before = sum(map(len, given_up.values()))
        waiting = {file for file in files if _waits(scheduler, file, given_up.keys() - settled)}
        turns = {file: left_out for file, left_out in given_up.items() if file not in waiting}
        failing = sum(bool(_places(scheduler, file)) for file in turns)
        combinations.jobs = max(1, jobs // max(1, failing))
        found = await _proven(combinations, turns, unproven=unproven, jobs=jobs, progress=progress)
        in_round: dict[str, str] = {}
        for file, proven in found.items():
            concerned = {file, *scheduler.results[file].dependencies, *(change.span.file for change in proven.changes)}
            is_stale = not in_round.keys().isdisjoint(concerned)
            fix = await _prove(combinations, file, given_up[file], unproven=unproven) if is_stale else proven
            if fix is not None:
                in_round |= await _applied(scheduler, combinations, file, fix, given_up[file], trace)
        changed |= in_round
        settled |= turns.keys() - in_round.keys()
        if not in_round and sum(map(len, given_up.values())) == before and not waiting:
            break
    return {path: text for path, text in changed.items() if (disk := on_disk(path)) is None or disk.text != text}


def _waits(scheduler: Scheduler, file: str, others: AbstractSet[str]) -> bool:
    """Whether all that fails in a file's targets fails in ``others`` too, where the code stands: they come first."""
    places = _places(scheduler, file)
    elsewhere = {place for other in others - {file} for place in _places(scheduler, other) if place[1].file == other}
    return bool(places) and places <= elsewhere


def _places(scheduler: Scheduler, file: str) -> set[tuple[str, Span]]:
    """The kind and the place of each failure of a file's targets."""
    reports = [traced.report for _, traced in scheduler.results.counting(file) if traced.report]
    failures = [failure for report in reports for failure in report.failures if not failure.other_side]
    return {(failure.kind, failure.chain[-1].span) for failure in failures if failure.chain}


def write(path: str, text: str) -> None:
    """Write a file in its current encoding. Raises OSError, and UnicodeEncodeError if ``text`` can't be encoded."""
    with Path(path).open("rb") as file:
        encoding, _ = tokenize.detect_encoding(file.readline)
    Path(path).write_bytes(text.encode(encoding))


async def _proven(
    combinations: FixCombinations,
    given_up: Mapping[str, set[Identity]],
    *,
    unproven: bool,
    jobs: int,
    progress: Callable[[int, int, str], None],
) -> dict[str, Fix]:
    """One edit for each file that has proven fixes.

    ``given_up``: by file, the fixes that earlier rounds gave up; those that this round can't prove are added.
    """
    found: dict[str, Fix] = {}
    waiting = enumerate(given_up.items())

    async def work() -> None:
        for done, (file, left_out) in waiting:
            progress(done, len(given_up), file)
            fix = await _prove(combinations, file, left_out, unproven=unproven)
            if fix is not None:
                found[file] = fix

    await run_workers(work, jobs)
    return {file: found[file] for file in given_up if file in found}


async def _prove(combinations: FixCombinations, file: str, given_up: set[Identity], *, unproven: bool) -> Fix | None:
    """One edit with proven fixes of a file; None if there is none."""
    fix = await combinations.prove_at_once(file, given_up)
    return fix or await combinations.prove_together(file, unproven=unproven, given_up=given_up)


async def _applied(
    scheduler: Scheduler,
    combinations: FixCombinations,
    file: str,
    fix: Fix,
    given_up: set[Identity],
    trace: Callable[[str], Awaitable[object]],
) -> dict[str, str]:
    """Apply an edit in memory, and trace the files that it affects. Returns the new texts.

    If a target can no longer be captured after the edit, it is undone, and one of its fixes is ``given_up``.
    """
    edited = applied(fix.changes, scheduler.documents.lines)
    affected = [other for other, result in scheduler.results.items() if ({other} | result.dependencies) & edited.keys()]
    old = {path: scheduler.documents.text(path) or "" for path in edited}
    part = combinations.part_of(file, fix, given_up)
    could = _targets(scheduler, affected, traced=True)
    await _change(scheduler, edited, affected, trace)
    if could.isdisjoint(_targets(scheduler, affected, traced=False)):
        return edited
    await _change(scheduler, old, affected, trace)
    given_up.add(part)
    return {}


async def _change(
    scheduler: Scheduler,
    texts: Mapping[str, str],
    affected: Sequence[str],
    trace: Callable[[str], Awaitable[object]],
) -> None:
    for path, text in texts.items():
        scheduler.documents.open(path, text, 0)
    for path in affected:
        await trace(path)


def _targets(scheduler: Scheduler, files: Sequence[str], *, traced: bool) -> set[tuple[str, str, str]]:
    """The file, key and capture of each target that was reported, and that can be captured (``traced``) or not."""
    return {
        (file, item.target.key, capture)
        for file in files
        for capture, item in scheduler.results.counting(file)
        if item.report is not None and (item.report.outcome == "traced") is traced
    }
