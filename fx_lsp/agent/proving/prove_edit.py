"""Tries an edit: examines the program before and after the edit, each in its own process, and compares the two.

An edit is proven when the failures that it should fix are gone, no failure is new, and both the edited program and its
graph do the same as the old program on at least `input_search.LEAST` inputs. If one of these can't be determined, the
edit is not proven.
"""

from __future__ import annotations

import itertools
import os
import time
import tokenize
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial

from fx_lsp.agent.messages import Proof, Prove, Report, Target, Trace
from fx_lsp.agent.processes.children import Emit
from fx_lsp.agent.proving.failure_matching import (
    FoundFailures,
    Places,
    check_places,
    edited_lines,
    explored_failures,
    failures_met,
    place_of,
    span_of,
)
from fx_lsp.agent.proving.line_coverage import Part, Seen, parts_not_run, recording_lines, replaced_parts
from fx_lsp.agent.proving.run_in_child import ChildRunner, ProofEnded
from fx_lsp.agent.proving.trial_runs import (
    InputSearch,
    Program,
    ProgramRuns,
    build_program,
    check_graph,
    check_program,
    fixed_values,
    run_on_inputs,
)
from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.tracing.trace_request import TraceSession
from fx_lsp.agent.tracing.trace_target import ImportedFile

NICENESS = 10
"""The niceness of a proof, which leaves the processor to the traces that someone is waiting for."""

SEARCH_SHARE = 0.3
"""The share of the time for a proof that may be spent on finding inputs."""

RUN_SECONDS = 1.0
"""Processor time that the program may take on all inputs together, once there are enough of them. The proof then runs
it three more times on each input, with backward passes."""


@dataclass(frozen=True)
class _Before:
    """What is known about the program before the edit."""

    found: FoundFailures
    on_way: Input | None
    """The input that decided the branches while failures were looked for; None if the branches were guessed."""
    mended: Places
    """The places of the failures that the edit should fix."""
    runs: ProgramRuns | ProofEnded
    """What the program does on inputs, or why that is not known."""


def prove(request: Prove, builtin: Collection[str], emit: Emit) -> None:
    """In a child of the agent: try the edit, and emit the `Proof`. ``builtin`` is as in `Workspace`."""
    os.nice(NICENESS)
    trial = _EditProof(request, builtin)
    try:
        reason = trial.run()
        emit(Proof(request.id, "proven", reason))
    except ProofEnded as end:
        emit(Proof(request.id, end.verdict, end.reason))


class _EditProof:
    """Handles one `Prove` request."""

    def __init__(self, request: Prove, builtin: Collection[str]) -> None:
        self._request = request
        self._builtin = builtin
        self._end = time.monotonic() + request.limits.seconds

    def run(self) -> str:
        """Try the edit; return in one sentence why it is proven. Raises `ProofEnded` if it is not proven."""
        apart = self._apart()
        before = apart(self._before)
        apart(partial(self._after, before))
        if isinstance(before.runs, ProofEnded):
            raise before.runs
        for part in before.runs.missed:
            where = f"line {part.lines.start}" if part.expression is None else f"both sides of line {part.lines.start}"
            raise ProofEnded("untried", f"no input was found that reaches {where}")
        return f"the edited code behaves the same on {len(before.runs.inputs)} inputs"

    # The next two methods each run in a process that imports one of the two texts.

    def _before(self) -> _Before:
        request, apart = self._request, self._apart()
        file = self._imported(request.target, request.overlays)
        mended = Counter(place_of(failure, file.workspace.owns) for failure in request.failures)
        runs: ProgramRuns | ProofEnded
        try:
            watched = self._watched(file)
            program, run = self._built(file, watched)
            runs = run_on_inputs(apart, file, program, self._search(file, program, parts_not_run(watched, run)))
            found = failures_met(
                apart, program.built, file.workspace.owns, runs.inputs[0].by_parameter(program.built.root)
            )
            if not mended - found.places:
                return _Before(found, runs.inputs[0], mended, runs)
        except ProofEnded as end:
            runs = ProofEnded("untried", end.reason)
        found = explored_failures(apart, file, request.target)
        if mended - found.places:
            raise ProofEnded("untried", "the failure that the fix addresses did not occur again")
        return _Before(found, None, mended, runs)

    def _built(self, file: ImportedFile, watched: Collection[Part]) -> tuple[Program, Seen]:
        """The program before the edit, and the lines that building it runs."""
        run: Seen = set()
        with recording_lines(watched, run):
            return build_program(file, self._request.target), run

    def _search(self, file: ImportedFile, program: Program, watched: Collection[Part]) -> InputSearch:
        seconds = self._request.limits.seconds
        fixed = partial(fixed_values, file, self._request.edited_target)
        inputs = program.built.recipe.inputs
        return InputSearch(fixed, inputs, time.monotonic() + SEARCH_SHARE * seconds, RUN_SECONDS, watched)

    def _after(self, before: _Before) -> None:
        request, apart = self._request, self._apart()
        try:
            file = self._imported(request.edited_target, {**request.overlays, **request.edited})
        except ProofEnded as end:
            raise ProofEnded("refuted", f"after the edit, {end.reason}") from None
        if not isinstance(before.runs, ProgramRuns):
            self._check_places(before, explored_failures(apart, file, request.edited_target))
            return
        program = build_program(file, request.edited_target, before.runs.names)
        if before.on_way is None:
            found = explored_failures(apart, file, request.edited_target)
        else:
            found = failures_met(
                apart, program.built, file.workspace.owns, before.on_way.by_parameter(program.built.root)
            )
        self._check_places(before, found)
        for check in (check_program, check_graph):
            apart(partial(check, program, before.runs))

    def _check_places(self, before: _Before, after: FoundFailures) -> None:
        check_places(before.found, after, before.mended, self._edited_lines())

    def _watched(self, file: ImportedFile) -> list[Part]:
        """The parts that some input has to reach: what the edit removes, and the failing expressions.

        If the edit gives an argument a fixed value, the failing expressions don't count, since the edit may be meant to
        keep the program from reaching them.
        """
        fixes_argument = self._request.target.recipe.concrete_args != self._request.edited_target.recipe.concrete_args
        failures = () if fixes_argument else self._request.failures
        spans = [span_of(failure, file.workspace.owns) for failure in failures]
        failing = [Part(span.file, range(span.line, span.end_line + 1)) for span in spans if span]
        edited = [replaced_parts(path, old, new) for path, old, new in self._edits()]
        return [*failing, *itertools.chain.from_iterable(edited)]

    def _edited_lines(self) -> set[tuple[str, int]]:
        """The file and number of each line of the new texts that is not in the old ones."""
        return {(path, line) for path, old, new in self._edits() for line in edited_lines(old, new)}

    def _edits(self) -> Iterator[tuple[str, str, str]]:
        """Path, old text and new text of each file that is edited."""
        for path, new in self._request.edited.items():
            old = self._request.overlays.get(path)
            if old is None:
                with tokenize.open(path) as disk:
                    old = disk.read()
            yield path, old, new

    def _imported(self, target: Target, overlays: dict[str, str]) -> ImportedFile:
        request = self._request
        trace = Trace(request.file, (target,), overlays, request.roots, request.limits, request.id)
        said: list[object] = []
        file = TraceSession(trace, self._builtin, said.append).imported()
        if file is None:
            errors = [failure.error for report in said if isinstance(report, Report) for failure in report.failures]
            raise ProofEnded("untried", f"the file can't be imported: {', '.join(errors)}")
        return file

    def _apart(self) -> ChildRunner:
        return ChildRunner(self._end, self._request.limits.memory_mb)
