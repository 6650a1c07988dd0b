"""``fx-lsp check``: does once, for files on disk, what the language server does for the files in an editor."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import get_args

from fx_lsp.agent.messages import NOTEBOOK, Capture, Costs, Proof, Target
from fx_lsp.analysis.apply_fixes import mend, write
from fx_lsp.analysis.engine import Engine
from fx_lsp.analysis.findings import Finding, merged
from fx_lsp.analysis.results import FileResult, Traced
from fx_lsp.analysis.worker_tasks import run_workers
from fx_lsp.documents.documents import Documents, why_not_python
from fx_lsp.documents.nbformat import read_notebook
from fx_lsp.errors import CannotCheck
from fx_lsp.fixes import Fix
from fx_lsp.interpreters.interpreter_choice import Interpreter
from fx_lsp.settings.precedence import override
from fx_lsp.settings.pyproject import project_of
from fx_lsp.settings.settings import AUTO, Settings
from fx_lsp.supervisor.cluster_agent import Cluster, connected
from fx_lsp.supervisor.supervised_agent import AgentState, why_not
from fx_lsp.workspace.disk_cache import Cache
from fx_lsp.workspace.python_files import FileSelection, folders_of

Progress = Callable[[int, int, str], None]
"""``progress(done, of, next)``: ``done`` of ``of`` files are done; ``next`` says what is done next."""


@dataclass(frozen=True)
class Problem:
    """A finding, and the edits that may fix it."""

    finding: Finding
    fixes: tuple[Fix, ...]
    proofs: Mapping[Fix, Proof] = field(default_factory=dict)
    """The result of each fix that was tried."""


@dataclass(frozen=True)
class Mending:
    """Which fixes are applied, and whether the files are changed."""

    unproven: bool = False
    """Also apply fixes that could not be tried."""
    write: bool = True
    """Change the files; otherwise, only report the edits."""


@dataclass(frozen=True)
class Checked:
    """Everything that was found in some files."""

    problems: tuple[Problem, ...]
    """Sorted by path and place."""
    documents: Documents
    """The texts that the problems' places refer to."""
    results: Mapping[str, FileResult]
    """The results by path, in the order of the files."""
    unread: Mapping[Path, str]
    """Files that can't be read or parsed, and why."""
    captures: tuple[Capture, ...] = ("fx",)
    """The captures that ``problems`` are about."""
    captures_of: Callable[[Target], Sequence[Capture]] = lambda target: ("fx",)
    """Which of them are checked for a target."""
    costs: Mapping[str, Mapping[str, Costs]] = field(default_factory=dict)
    """By path and by the key of the target: what each target costs that can be traced, if that was asked for."""
    edits: Mapping[str, str] = field(default_factory=dict)
    """Path -> new text of each file that fixes change; ``problems`` are those that remain after the fixes."""

    def verdicts(self, result: FileResult) -> Iterator[tuple[Capture, Traced]]:
        """Each target of a file with each capture that is checked for it, and what came of it."""
        for key, traced in result.traced.items():
            for capture in self.captures_of(traced.target):
                not_tried = Traced(traced.target, traced.place)
                yield capture, traced if capture == "fx" else result.captured.get((key, capture), not_tried)

    def traced_targets(self) -> list[int]:
        """For each file with traced targets, how many of them were traced, to their end or to a failure."""
        counts = (sum(traced.was_traced for traced in result.traced.values()) for result in self.results.values())
        return [count for count in counts if count]


async def check(
    paths: Sequence[Path],
    settings: Settings | None = None,
    *,
    scope: FileSelection | None = None,
    jobs: int = 1,
    cache: Cache | None = None,
    cluster: str | None = None,
    captures: Sequence[str] = ("fx",),
    mending: Mending | None = None,
    with_fixes: bool = True,
    with_costs: bool = False,
    progress: Progress = lambda done, of, next: None,
) -> Checked:
    """Trace the targets of the files that ``paths`` name (see `python_files.files_of`), ``jobs`` at a time.

    The result and its order do not depend on ``jobs``. ``settings`` override those of each file's project, ``scope``
    selects some of the files, and traces in ``cache`` are not repeated. With ``mending``, fixes are applied first.
    Without ``with_fixes``, problems are reported without their fixes, which take a while to find. ``with_costs``: also
    count what each target costs, which a cluster can't. ``cluster`` is the address of a Dask scheduler whose workers
    trace instead of this machine, as many files at a time as they can; their results are not cached. ``captures`` are
    the captures to check, or `AUTO`: for each target, those that the code uses on it. A target is traced even if ``fx``
    is not among them, but its failures are then not reported.

    Raises CannotCheck if a path does not exist, a project's settings can't be used, a notebook would have to be fixed,
    or there is no PyTorch to trace with.
    """
    files = (scope or FileSelection()).of(paths)
    if mending and (notebook := next(filter(_is_notebook, files), None)):
        raise CannotCheck(
            f"{notebook} can't be fixed: fx-lsp check reports problems in notebooks but does not fix them."
        )
    if with_costs and cluster is not None:
        raise CannotCheck("A cluster can't count what models cost; use --costs without --cluster.")
    async with contextlib.AsyncExitStack() as stack:
        workers = None
        if cluster is not None and files:
            workers = await stack.enter_async_context(connected(cluster))
            await workers.send(folders_of(paths), files[0])
            jobs = workers.threads
        shared = _shared_out(settings or Settings(), jobs, len(files))
        run = _Run(
            folders_of(paths),
            shared,
            cache,
            workers,
            with_fixes=with_fixes,
            with_costs=with_costs,
            captures=tuple(captures),
            edits=mending is not None,
        )
        stack.push_async_callback(run.close)
        return await run.check(files, jobs, progress, mending)


def _shared_out(settings: Settings, jobs: int, files: int) -> Settings:
    """``settings`` with each file's share of ``jobs``, the number of its targets that are traced at a time."""
    return dataclasses.replace(settings, jobs=max(1, jobs // max(1, files)))


class _Run:
    """One run over some files: has the files traced, applies fixes, and collects the problems."""

    def __init__(
        self,
        folders: Sequence[str],
        settings: Settings,
        cache: Cache | None,
        cluster: Cluster | None,
        *,
        with_fixes: bool,
        with_costs: bool,
        captures: tuple[str, ...],
        edits: bool,
    ) -> None:
        self._settings = settings
        self._captures = captures
        self._with_fixes = with_fixes
        self._with_costs = with_costs
        self._problem: str | None = None
        """Why the agent can't trace."""
        self._no_notebooks: dict[Path, str] = {}
        """Files that should be notebooks but are not, and why."""
        self._engine = Engine(
            self._settings_of,
            folders=folders,
            python=settings.interpreter,
            on_agent_state=self._on_agent_state,
            cache=cache,
            # The targets and fixes of texts that are being edited are not those of the files on disk.
            findings_cache=None if edits else cache,
            cluster=cluster,
            one_run=True,
        )

    async def check(self, files: Sequence[Path], jobs: int, progress: Progress, mending: Mending | None) -> Checked:
        for file in filter(_is_notebook, files):
            self._open_notebook(file)
        if self._captures != ("fx",):
            await asyncio.to_thread(self._engine.scheduler.uses.update, map(str, files))
        await self._trace([file for file in files if file not in self._no_notebooks], jobs, progress)
        edits = await self._mend(files, mending, jobs, progress) if mending else {}
        await self._count(files, jobs, progress)
        results = self._engine.results
        findings = sorted(
            merged(results.findings()),
            key=lambda found: (found.place.path, found.place.start),
        )
        return Checked(
            problems=tuple(map(self._as_problem, findings)),
            documents=self._engine.documents,
            results=results,
            captures=tuple(one for one in get_args(Capture) if {one, AUTO}.intersection(self._captures)),
            captures_of=results.captures_of,
            costs={path: self._engine.costs.in_file(path) for path in results},
            unread={
                file: self._no_notebooks.get(file) or why_not_python(str(file))
                for file in files
                if str(file) not in results or self._engine.documents.lines(str(file)) is None
            },
            edits=edits,
        )

    async def close(self) -> None:
        """Stop all work and every tracing process."""
        await self._engine.close()

    def _open_notebook(self, file: Path) -> None:
        try:
            self._engine.documents.open_notebook(str(file), read_notebook(file), 0)
        except OSError as error:
            self._no_notebooks[file] = f"it can't be read: {error.strerror}"
        except ValueError as error:
            self._no_notebooks[file] = str(error)

    async def _trace(self, files: Sequence[Path], jobs: int, progress: Progress) -> None:
        """Trace the files, the largest first, so that the run does not end with a long wait for a single large file."""
        waiting = enumerate(sorted(files, key=_size, reverse=True))

        async def work() -> None:
            for done, file in waiting:
                await self._trace_file(file, partial(progress, done, len(files)))
                if self._problem is not None:
                    raise CannotCheck(self._problem)

        await run_workers(work, jobs)
        results = self._engine.results
        in_order = {str(file): results[str(file)] for file in files if str(file) in results}
        results.clear()
        results.update(in_order)

    async def _count(self, files: Sequence[Path], jobs: int, progress: Progress) -> None:
        """Count what the targets of the files cost, if that was asked for or a file says what it should be."""
        costs = self._engine.costs
        counted = [file for file in files if self._with_costs or costs.has_expectations(str(file))]
        waiting = enumerate(counted)

        async def work() -> None:
            for done, file in waiting:
                progress(done, len(counted), f"counting {file.name}")
                await costs.count(str(file))

        await run_workers(work, jobs)

    async def _trace_file(self, file: Path, say: Callable[[str], None] = lambda next: None) -> None:
        """Trace a file, and capture what is asked for. ``say`` receives the name of each step as it begins."""
        say(f"tracing {file.name}")
        await self._engine.scheduler.trace(str(file))
        for capture, verb in _VERBS.items():
            if keys := self._captured_with(str(file), capture):
                say(f"{verb} {file.name}")
                await self._engine.captures.capture(str(file), capture, keys)

    def _captured_with(self, path: str, capture: Capture) -> list[str]:
        """The keys of the targets of a file for which ``capture`` is checked."""
        results = self._engine.results
        traced = results[path].traced if path in results else {}
        return [key for key, item in traced.items() if capture in results.captures_of(item.target)]

    async def _mend(self, files: Sequence[Path], mending: Mending, jobs: int, progress: Progress) -> dict[str, str]:
        engine = self._engine
        edits = await mend(
            engine.scheduler,
            engine.proofs.combinations,
            list(map(str, files)),
            trace=lambda path: self._trace_file(Path(path)),
            unproven=mending.unproven,
            jobs=jobs,
            progress=lambda done, of, file: progress(done, of, f"trying fixes in {Path(file).name}"),
        )
        if mending.write:
            for path, text in edits.items():
                try:
                    write(path, text)
                except (OSError, UnicodeEncodeError) as error:
                    raise CannotCheck(f"{path} can't be written: {error}.") from error
        return edits

    def _as_problem(self, finding: Finding) -> Problem:
        proofs = self._engine.proofs
        fixes = proofs.trials.fixes(finding.failure) if self._with_fixes else ()
        tried = {fix: proofs.trials.known(finding.failure, fix) for fix in fixes}
        proofs_known = {fix: proof for fix, proof in tried.items() if proof}
        if not all(fix.adds_operator for fix in fixes):  # an operator is long, and only needed if nothing else helps
            proven = {fix for fix, proof in proofs_known.items() if proof.verdict == "proven"}
            fixes = tuple(fix for fix in fixes if not fix.adds_operator or fix in proven)
        return Problem(finding, fixes, proofs_known)

    def _settings_of(self, path: str) -> Settings:
        project = project_of(path)
        for mistake in project.mistakes:
            raise CannotCheck(f"{mistake.file}:{mistake.line}: {mistake.reason}")
        return dataclasses.replace(override(project.settings, self._settings), captures=self._captures)

    def _on_agent_state(self, state: AgentState, interpreter: Interpreter, folder: Path) -> None:
        self._problem = why_not(state, interpreter, "specify your project's Python with --python") or self._problem


_VERBS: Mapping[Capture, str] = {"export": "exporting", "compile": "compiling"}


def _is_notebook(file: Path) -> bool:
    return file.suffix == NOTEBOOK


def _size(file: Path) -> int:
    """The size of a file in bytes; 0 if it can't be read."""
    with contextlib.suppress(OSError):
        return file.stat().st_size
    return 0
