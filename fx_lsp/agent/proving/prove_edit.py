"""Tries an edit: examines the program before and after the edit, each in its own process, and compares the two.

An edit is proven when the failures that it should fix are gone, no failure is new (see `check_places`), and both the
edited program and its graph do the same as the old program on at least `input_search.LEAST` inputs. If one of these
can't be determined, the edit is not proven. A large program is represented by two small ones (see `small_twin`).
"""

from __future__ import annotations

import itertools
import os
import re
import tokenize
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial

from fx_lsp.agent.building.constructor_sizes import SizedConstructors, Sizes
from fx_lsp.agent.importing.workspace_importer import lines_of
from fx_lsp.agent.messages import Heartbeat, Proof, Prove, Report, Span, Target, Trace
from fx_lsp.agent.processes.children import Emit
from fx_lsp.agent.processes.priority import give_way_to_traces
from fx_lsp.agent.proving.capture_failures import captured_failures, check_captured, check_fake_kernels
from fx_lsp.agent.proving.edited_function import changed_function
from fx_lsp.agent.proving.failed_builds import FailedBuilds
from fx_lsp.agent.proving.failure_matching import (
    FoundFailures,
    Places,
    check_capture_places,
    check_mended,
    check_places,
    check_raised,
    comparable,
    edited_lines,
    explored_failures,
    failures_met,
    place_of,
    replaced_expressions,
    span_of,
)
from fx_lsp.agent.proving.line_coverage import (
    Part,
    Seen,
    parts_not_run,
    parts_of_branch,
    recording_lines,
    replaced_parts,
)
from fx_lsp.agent.proving.other_kinds import with_other_kinds
from fx_lsp.agent.proving.proof_memory import Findings, Remembered, key_of
from fx_lsp.agent.proving.run_in_child import ChildRunner, ProofEnded
from fx_lsp.agent.proving.side_effects import Effects
from fx_lsp.agent.proving.small_twin import FEWEST, MOST_AGREEING, NARROWEST, Twins, agreeing_sizes, find_twins
from fx_lsp.agent.proving.tensor_pickles import dumped, loaded
from fx_lsp.agent.proving.trial_runs import (
    InputSearch,
    Program,
    ProgramRuns,
    build_program,
    check_graph,
    check_program,
    fixed_values,
    function_of,
    run_on_inputs,
    side_effects,
)
from fx_lsp.agent.running.observation import Input, forward_of
from fx_lsp.agent.running.written_lists import written_lists
from fx_lsp.agent.tracing.trace_request import TraceSession
from fx_lsp.agent.tracing.trace_target import ImportedFile

SHARE_OF_OTHER_TWINS = 1 / 3
"""What share of the budget there is for the search for a further twin's inputs."""


class _NotRun(ProofEnded):
    """The program was not run: no inputs were found, or it can't be built."""


@dataclass(frozen=True)
class _Function:
    """A function that was run alone."""

    path: str
    name: str
    effects: tuple[Effects, ...]
    """What it does to the rest of the program, for each of its inputs."""


@dataclass(frozen=True)
class _Before:
    """What is known about the program before the edit."""

    found: FoundFailures
    on_way: Input | None
    """The input that decided which branches the search for failures took; None if they were guessed."""
    mended: Places
    """The places of the failures that the edit should fix."""
    runs: ProgramRuns | ProofEnded
    """What the program does on some inputs, or why this is not known."""
    shown: str = ""
    """The expression that built the program, if it could be built."""
    sizes: Sizes = field(default_factory=dict)
    """The numbers that make the program small."""
    other: tuple[Sizes, ProgramRuns] | None = None
    """The numbers that make a second, different program, and what that program does."""
    function: _Function | None = None
    """The function that was run alone, if the program itself can't be run."""

    @property
    def is_ready(self) -> bool:
        """Whether the edit can be tried with what is known."""
        return isinstance(self.runs, ProgramRuns) and not self.runs.lacking


@dataclass(frozen=True)
class _Explored:
    """Where the program, or its first small twin, breaks before the edit."""

    found: FoundFailures
    mended: Places
    """The places of the failures that the edit should fix."""
    sizes: Sizes
    """The numbers that make the twin small; none if it is the program itself."""
    remembered: Remembered | None
    """What the next step need not search for again."""


@dataclass(frozen=True)
class _Packed:
    """A `_Before` for another process, which unpacks it once it has imported what the inputs are made of."""

    before: str
    is_small: bool
    """Whether the program is a small twin."""
    remembered: Remembered | None
    """What the next proof of the target need not search for again."""
    ended: ProofEnded | None = None
    """Why the proof ends here, if it does."""


def prove(request: Prove, builtin: Collection[str], remembered: Remembered | None, emit: Emit) -> None:
    """In a child of the agent: try the edit, and emit the `Proof`, and a `Remembered` for the target's next proof.

    ``builtin`` is as in `Workspace`; ``remembered`` is from the last proof of the same target, if there was one.
    """
    give_way_to_traces()
    ChildRunner.emit = staticmethod(lambda item: emit(Heartbeat(request.id)))
    trial = _EditProof(request, builtin, remembered, emit)
    try:
        reason = trial.run()
        emit(Proof(request.id, "proven", reason))
    except ProofEnded as end:
        emit(Proof(request.id, end.verdict, end.reason, end.lacks_inputs, end.moved_to))


class _EditProof:
    """Handles one `Prove` request."""

    def __init__(self, request: Prove, builtin: Collection[str], remembered: Remembered | None, emit: Emit) -> None:
        self._request = request
        self._builtin = builtin
        self._remembered = remembered
        self._emit = emit
        self._runner: tuple[int, ChildRunner | None] = (0, None)
        self._known_after: dict[str, FoundFailures] = {}
        """By `key_of`: where the edited program breaks, with guessed inputs."""

    def run(self) -> str:
        """Try the edit; return in one sentence why it is proven. Raises `ProofEnded` if it is not proven.

        An edit that fails in the small twins of a model may be right in the model itself, if it names a size.
        """
        largest = self._largest_number()
        small = not self._request.full_size and largest < NARROWEST
        if self._request.function_only:
            self._changed_function()
        if self._request.failures and (self._request.capture != "fx" or not self._changes_a_step()):
            self._check_early(small=small)
        before = self._examined(small=small)
        try:
            return self._apart()(partial(self._after, before.before))
        except ProofEnded as end:
            if not before.is_small or (end.verdict == "refuted" and largest < FEWEST):
                raise
        return self._apart()(partial(self._after, self._examined(small=False).before))

    def _check_early(self, *, small: bool) -> None:
        """Raises `ProofEnded` if the edited program can't be captured, which takes little time to find out.

        If it needs the argument that the edit fixes, it can't be captured either.

        ``small``: as for `_examined`.
        """
        try:
            before = self._apart()(partial(self._explored_before, small=small))
            if not isinstance(before, _Explored):
                self._remembered = before or self._remembered
                return
            self._remembered = before.remembered or self._remembered
            after = self._apart()(partial(self._explored_after, before.sizes))
            self._known_after[key_of(before.sizes)] = after
        except ProofEnded:  # the rest of the proof will say what is wrong
            return
        if not before.mended - before.found.places:
            try:
                if self._request.capture != "fx":
                    self._check_places(before, after)
                else:
                    check_mended(before.found, after, self._comparable(before, after))
                    if self._fixes_argument:
                        check_raised(before.found, after)
            except ProofEnded:
                self._remember(before.remembered)
                raise

    def _examined(self, *, small: bool) -> _Packed:
        """What the program does before the edit. ``small``: what its small twins do, if there are any."""
        before = self._apart()(partial(self._before, small=small))
        self._remember(before.remembered)
        if before.ended is not None:
            raise before.ended
        return before

    def _remember(self, remembered: Remembered | None) -> None:
        """Keep what was found out about the target for the next step, and for the next proof."""
        if remembered is not None:
            self._remembered = remembered
            self._emit(remembered)

    # The next four methods each run in a process that imports one of the two texts.

    def _explored_before(self, *, small: bool) -> _Explored | Remembered | None:
        """Where the program breaks; if this is not found, only what the next step need not search for again."""
        request = self._request
        file = self._imported(request.target, request.overlays)
        known = Findings.recalled(self._remembered, file, request.overlays)
        twins = self._known_twins(file, known) if small else None
        sizes = twins[0] if twins else {}
        try:
            found = self._failures_before(sizes, file, known)
        except ProofEnded:
            return known.remembered(file, request.overlays)
        return _Explored(found, self._mended(file), sizes, known.remembered(file, request.overlays))

    def _explored_after(self, sizes: Sizes) -> FoundFailures:
        request = self._request
        file = self._imported(request.edited_target, {**request.overlays, **request.edited})
        with _with_sizes(sizes):
            return self._failures(file, request.edited_target)

    def _before(self, *, small: bool) -> _Packed:
        overlays = self._request.overlays
        file = self._imported(self._request.target, overlays)
        known = Findings.recalled(self._remembered, file, overlays)
        try:
            if self._request.function_only:
                before = self._function(file, known)
            else:
                before = (self._twins(file, known) if small else None) or self._itself(file, known)
        except ProofEnded as end:
            return _Packed("", False, known.remembered(file, overlays), end)
        return _Packed(dumped(before), before.other is not None, known.remembered(file, overlays))

    def _after(self, packed: str) -> str:
        """Compare what the program does after the edit; return why the edit is proven. Raises `ProofEnded`."""
        request = self._request
        try:
            file = self._imported(request.edited_target, {**request.overlays, **request.edited})
        except ProofEnded as end:
            raise ProofEnded("refuted", f"after the edit, {end.reason}") from None
        before: _Before = loaded(packed)
        with _with_sizes(before.sizes):
            unlike = self._compare(before, file)
        if before.other is not None:
            sizes, runs = before.other
            with _with_sizes(sizes):
                unlike += self._check(build_program(file, request.edited_target, runs.names), runs)
        if isinstance(before.runs, ProofEnded):
            raise before.runs
        for part in before.runs.lacking:
            raise ProofEnded("untried", f"no input was found that reaches {part.where}", True)
        recipe = request.target.recipe
        where = f", as a part of `{recipe.root.source}`" if recipe.is_host else ""
        what = f"`{before.function.name}`, run alone," if before.function else "the edited code"
        proven = f"{what} behaves the same on {len(before.runs.inputs)} inputs{where}"
        proven = f"{proven}, with {_described(before.sizes)}" if before.sizes else proven
        proven = f"{proven}, but {unlike[0]}" if unlike else proven
        unseen = sorted({part.lines.start for part in before.runs.missed})
        return f"{proven}; none of them reaches line {unseen[0]}, which is moved unchanged" if unseen else proven

    def _twins(self, file: ImportedFile, known: Findings) -> _Before | None:
        """What the small twins do; None if there are none, or if the edit can't be tried on them."""
        twins = self._known_twins(file, known) or ()
        for at, sizes in enumerate(twins[:1] if self._fixes_argument else twins):
            with suppress(ProofEnded):
                before = self._run_with(sizes, file, known, SHARE_OF_OTHER_TWINS if at else 1.0)
                if before.is_ready:
                    return self._with_other_twin(before, twins[at + 1 :], file, known)
        return None

    def _with_other_twin(self, before: _Before, others: Twins, file: ImportedFile, known: Findings) -> _Before | None:
        """``before`` with what one of the other twins does; None if none of them can be run."""
        for other in others:
            with suppress(ProofEnded), _with_sizes(other):
                runs = self._runs(file, known, other, few=True, share=SHARE_OF_OTHER_TWINS)[1]
                if not runs.lacking:
                    return replace(before, other=(other, runs))
        return None

    def _known_twins(self, file: ImportedFile, known: Findings) -> Twins | None:
        """The target's small twins, which are searched for once; None if it has none."""
        if not known.looked_for_twins:
            known.looked_for_twins = True
            with suppress(ProofEnded):
                search = partial(self._apart(), partial(find_twins, file, self._request.target))
                known.twins = known.failed.unless_known(search, on_meta=True)
        return known.twins

    def _itself(self, file: ImportedFile, known: Findings) -> _Before:
        """What the program itself does or, if it can't be run, one that fx-lsp's other invented arguments build."""
        before = self._built_with({}, file, known)
        if not before.is_ready and self._request.target.recipe.made_up and not self._fixes_argument:
            with suppress(ProofEnded):
                for sizes in self._apart()(partial(agreeing_sizes, file, self._request.target)):
                    with suppress(ProofEnded):
                        if (agreeing := self._run_with(sizes, file, known, 1 / MOST_AGREEING)).is_ready:
                            return agreeing
        return before

    def _function(self, file: ImportedFile, known: Findings) -> _Before:
        """What the only function does that the edit changes, and where the program breaks. Raises `ProofEnded`."""
        path, name = self._changed_function()
        watched = self._watched(file)
        program, run = self._built({}, file, known, watched)
        function = function_of(program, file, path, name)
        if written_lists(forward_of(program.built.root)):  # invented tensors would prove nothing about lists
            raise ProofEnded("untried", f"the program takes lists, and so may `{name}`", True)
        search = InputSearch(dict, program.built.recipe.inputs, parts_not_run(watched, run), whole=program.built.root)
        runs, _ = run_on_inputs(self._apart(), file, function, search, None)
        runs = self._apart()(partial(with_other_kinds, function, runs))
        effects = self._apart()(partial(side_effects, function, runs.inputs))
        before = self._broken_with({}, file, known, runs, program.built.shown)
        return replace(before, function=_Function(path, name, effects))

    def _changed_function(self) -> tuple[str, str]:
        """The file and the name of the only function that the edit changes. Raises `ProofEnded`."""
        edits = [*self._edits()]
        spans = [step.span for failure in self._request.failures for step in failure.chain]
        if len(edits) == 1 and not self._fixes_argument and self._request.capture == "fx":
            ((path, old, new),) = edits
            line = next((span.line for span in reversed(spans) if span.file == path), 0)
            if name := changed_function(old, new, line):
                return path, name
        raise ProofEnded("untried", "the edit changes more than one function", True)

    def _built_with(self, sizes: Sizes, file: ImportedFile, known: Findings) -> _Before:
        """What the program does that is built with ``sizes``; if no inputs are found, only where it breaks."""
        try:
            return self._run_with(sizes, file, known)
        except _NotRun as end:
            return self._broken_with(sizes, file, known, ProofEnded("untried", end.reason, end.lacks_inputs))

    def _run_with(self, sizes: Sizes, file: ImportedFile, known: Findings, share: float = 1.0) -> _Before:
        """What the program does that is built with ``sizes``. Raises `_NotRun` if no inputs are found.

        ``share``: of the budget for the search for inputs.
        """
        mended = self._mended(file)
        with _with_sizes(sizes):
            try:
                program, runs = self._runs(file, known, sizes, share=share)
                if self._request.capture == "fx":
                    found = self._failures_met(program, runs, file, known, sizes)
                    if not mended - found.places:
                        return _Before(found, runs.inputs[0], mended, runs, program.built.shown, sizes)
            except ProofEnded as end:
                raise _NotRun(end.verdict, end.reason, end.lacks_inputs) from None
        return self._broken_with(sizes, file, known, runs, program.built.shown)

    def _broken_with(
        self, sizes: Sizes, file: ImportedFile, known: Findings, runs: ProgramRuns | ProofEnded, shown: str = ""
    ) -> _Before:
        """What the program does that is built with ``sizes``, with the failures that guessed inputs lead to."""
        mended, found = self._mended(file), self._failures_before(sizes, file, known)
        if mended - found.places:
            raise ProofEnded("untried", "the failure that the fix addresses did not occur again")
        return _Before(found, None, mended, runs, shown, sizes)

    def _failures_before(self, sizes: Sizes, file: ImportedFile, known: Findings) -> FoundFailures:
        """Where the program breaks that is built with ``sizes``, with guessed inputs, which are tried once."""
        if (key := f"{self._request.capture} {key_of(sizes)}") not in known.failures:
            with _with_sizes(sizes):
                failed = None if sizes else known.failed
                known.failures[key] = self._failures(file, self._request.target, failed)
        return known.failures[key]

    def _failures_met(
        self, program: Program, runs: ProgramRuns, file: ImportedFile, known: Findings, sizes: Sizes
    ) -> FoundFailures:
        """Where tracing the program breaks on the way that the first of its inputs decides; this is traced once."""
        key = self._key(sizes)
        if key not in known.met:
            on_way = runs.inputs[0].by_parameter(program.built.root)
            known.met[key] = failures_met(self._apart(), program.built, file.workspace.owns, on_way)
        return known.met[key]

    def _key(self, sizes: Sizes) -> str:
        """The key for the inputs of the program that is built with ``sizes``."""
        return key_of(sizes, self._request.edited_target.recipe.concrete_args)

    def _mended(self, file: ImportedFile) -> Places:
        """The places of the failures that the edit should fix."""
        return Counter(place_of(failure, file.workspace.owns) for failure in self._request.failures)

    def _runs(
        self, file: ImportedFile, known: Findings, sizes: Sizes, *, few: bool = False, share: float = 1.0
    ) -> tuple[Program, ProgramRuns]:
        key, watched = self._key(sizes), self._watched(file)
        found = known.inputs.get(key)
        if isinstance(found, ProofEnded):
            raise found
        program, run = self._built(sizes, file, known, watched)
        search = self._search(file, program, parts_not_run(watched, run))
        search = replace(search, few=few, share=share, similar=known.similar_inputs(sizes))
        try:
            runs, known.inputs[key] = run_on_inputs(self._apart(), file, program, search, found)
            known.accepted[key] = sizes, runs.inputs[0]
            if known.inputs[key] is not found:
                known.met.pop(key, None)
        except ProofEnded as end:
            if end.lacks_inputs:
                known.inputs[key] = end
            raise
        return program, runs

    def _built(
        self, sizes: Sizes, file: ImportedFile, known: Findings, watched: Collection[Part]
    ) -> tuple[Program, Seen]:
        """The program before the edit that is built with ``sizes``, and the lines that building it runs."""
        run: Seen = set()
        failed = FailedBuilds() if sizes else known.failed
        with recording_lines(watched, run):
            build = partial(build_program, file, self._request.target)
            return failed.unless_known(build, on_meta=False), run

    def _search(self, file: ImportedFile, program: Program, watched: Collection[Part]) -> InputSearch:
        fixed = partial(fixed_values, file, self._request.edited_target)
        target, any_values = self._request.target, self._request.capture != "fx"
        host = replace(
            target, recipe=replace(target.recipe, is_host=False, concrete_args=None), symbol=None, fallbacks=()
        )
        search = InputSearch(fixed, program.built.recipe.inputs, watched, any_values=any_values)
        return replace(search, host=host) if target.recipe.is_host else search

    def _compare(self, before: _Before, file: ImportedFile) -> list[str]:
        """Raises `ProofEnded` if the edited program differs in what counts; returns what `check_program` returns."""
        request, apart = self._request, self._apart()
        if not isinstance(before.runs, ProgramRuns):
            self._check_places(before, self._failures_after(before.sizes, file))
            return []
        program = build_program(file, request.edited_target, before.runs.names)
        if request.target.recipe.made_up and program.built.shown != before.shown:
            raise ProofEnded("untried", "for the edited code, fx-lsp invents other arguments")
        if before.function is not None:
            program = function_of(program, file, before.function.path, before.function.name)
        if before.on_way is None:
            found = self._failures_after(before.sizes, file)
        else:
            found = failures_met(
                apart, program.built, file.workspace.owns, before.on_way.by_parameter(program.built.root)
            )
        self._check_places(before, found)
        unlike = self._check(program, before.runs, must_succeed=not found.places)
        if before.function is not None and before.function.effects != apart(
            partial(side_effects, program, before.runs.inputs)
        ):
            raise ProofEnded("untried", f"`{before.function.name}` has other side effects after the edit")
        return unlike

    def _failures_after(self, sizes: Sizes, file: ImportedFile) -> FoundFailures:
        """Where the edited program breaks with guessed inputs. ``sizes`` are those that its constructors receive."""
        known = self._known_after.get(key_of(sizes))
        return known or self._failures(file, self._request.edited_target)

    def _failures(self, file: ImportedFile, target: Target, failed: FailedBuilds | None = None) -> FoundFailures:
        """The places where the target fails, with guessed inputs. Raises `ProofEnded` if they can't be found.

        ``failed`` is as for `explored_failures`.
        """
        request = self._request
        if request.capture == "fx":
            return explored_failures(self._apart(), file, target, failed)
        trace = Trace(request.file, (target,), request.overlays, request.roots, id=request.id, capture=request.capture)
        return captured_failures(self._apart(), file, trace)

    def _check(self, program: Program, runs: ProgramRuns, *, must_succeed: bool = False) -> list[str]:
        """Raises `ProofEnded` if the program or what is captured of it differs; returns what `check_program` returns.

        ``must_succeed``: whether the program can be captured by other means than a trace.
        """
        capture, apart = self._request.capture, self._apart()
        unlike = apart(partial(check_program, program, runs))
        if capture == "fx":
            apart(partial(check_graph, program, runs))
        else:
            apart(partial(check_fake_kernels, program, runs))
            apart(partial(check_captured, capture, program, runs, must_succeed=must_succeed))
        return unlike

    def _comparable(self, before: _Explored, after: FoundFailures) -> Places:
        """The failures of a trace that have to be gone after the edit."""
        return comparable(before.found, after, before.mended, self._edited_lines(), self._gone_lines())

    def _check_places(self, before: _Before | _Explored, after: FoundFailures) -> None:
        if self._request.capture != "fx":
            check_capture_places(before.found, after, before.mended, self._edited_lines())
            return
        replaced = {place for _, old, new in self._edits() for place in replaced_expressions(old, new)}
        check_places(before.found, after, before.mended, self._edited_lines(), self._gone_lines(), replaced)

    def _watched(self, file: ImportedFile) -> list[Part]:
        """The parts that some input has to reach: what the edit removes to fix the failures, and what fails.

        If the edit gives an argument a fixed value, the failing expressions don't count, since the edit may be meant to
        keep the program from reaching them.
        """
        failures = () if self._fixes_argument else self._request.failures
        spans = [*(span_of(failure, file.workspace.owns) for failure in failures), *self._request.further]
        failing = [Part(span.file, range(span.line, span.end_line + 1)) for span in spans if span]
        own_edits = self._edits(self._request.own_part or self._request.edited)
        edited = [replaced_parts(path, old, new) for path, old, new in own_edits]
        return [*failing, *itertools.chain.from_iterable(edited), *self._branches(spans)]

    @property
    def _fixes_argument(self) -> bool:
        """Whether the edit gives an argument a fixed value.

        If no inputs are found that go with it, the program usually rejects the value, whatever its sizes are.
        """
        before, after = (target.recipe.concrete_args for target in (self._request.target, self._request.edited_target))
        return (before and before.source) != (after and after.source)

    def _branches(self, spans: Sequence[Span | None]) -> Iterator[Part]:
        """For a capture, both sides of the branches that it could not decide, in the files that are edited."""
        texts = {path: (old, new) for path, old, new in self._edits()} if self._request.capture != "fx" else {}
        for span in spans:
            if span is not None and span.file in texts:
                old, new = texts[span.file]
                yield from parts_of_branch(span.file, old, span.line, span.col, new)

    def _edited_lines(self) -> set[tuple[str, int]]:
        """The file and number of each line of the new texts that is not in the old ones."""
        return {(path, line) for path, old, new in self._edits() for line in edited_lines(old, new)}

    def _gone_lines(self) -> set[tuple[str, int]]:
        """The file and number of each line of the old texts that is not in the new ones."""
        return {(path, line) for path, old, new in self._edits() for line in edited_lines(new, old)}

    def _changes_a_step(self) -> bool:
        """Whether the edit changes a line on the way from the traced program to one of the failures."""
        gone = self._gone_lines()
        spans = [step.span for failure in self._request.failures for step in failure.chain]
        lines = {(span.file, line) for span in spans for line in range(span.line, span.end_line + 1)}
        return not gone.isdisjoint(lines)

    def _largest_number(self) -> int:
        """The largest number in the lines that the edit changes, 0 if there is none: a small model may not reach it."""
        texts = (side for _, old, new in self._edits() for side in ((old, new), (new, old)))
        lines = (lines_of(text)[line - 1] for other, text in texts for line in edited_lines(other, text))
        return max((int(number) for line in lines for number in re.findall(r"\b\d{1,9}\b", line)), default=0)

    def _edits(self, texts: Mapping[str, str] | None = None) -> Iterator[tuple[str, str, str]]:
        """The path, the old text and the new text of each file that is edited, or of those in ``texts``."""
        for path, new in (self._request.edited if texts is None else texts).items():
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
        """The runner of this process: a signal wakes only the runner that was created last."""
        pid, runner = self._runner
        if runner is None or pid != os.getpid():
            runner = ChildRunner(self._request.limits.seconds, self._request.limits.memory_mb)
            self._runner = os.getpid(), runner
        return runner


def _with_sizes(sizes: Sizes) -> AbstractContextManager[None]:
    """Within this context, constructors receive ``sizes``."""
    return SizedConstructors(sizes).active() if sizes else nullcontext()


def _described(sizes: Sizes) -> str:
    """The numbers as text, e.g. ``depth=2, width=32``."""
    return ", ".join(f"{size.name}={new}" for size, new in sizes.items())
