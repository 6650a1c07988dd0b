"""``fx-lsp check``: what the language server does with the files of an editor, done once with files on the disk."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fx_lsp.agent.messages import NOTEBOOK, Proof
from fx_lsp.agent_pool import AgentPool, TracingAgent
from fx_lsp.agents import Agent, AgentState
from fx_lsp.analysis import Analysis, FileResult
from fx_lsp.cache import Cache
from fx_lsp.cluster import Cluster, ClusterAgent, connected
from fx_lsp.config import Settings
from fx_lsp.documents import Documents, why_not_python
from fx_lsp.exit_status import CannotCheck
from fx_lsp.findings import Finding, merged
from fx_lsp.fixes import Fix, fixes_for
from fx_lsp.fixes.kept import kept_fixes_for
from fx_lsp.interpreter import Interpreter, choose
from fx_lsp.mending import mend, write
from fx_lsp.project import FILE, project_of
from fx_lsp.proofs import Proofs
from fx_lsp.python_files import Scope, folders_of
from fx_lsp.remembering import RememberingAgent
from fx_lsp.saved_notebooks import read_notebook
from fx_lsp.targets.finder import KeepingFinder
from fx_lsp.tracing_calls import calls_with
from fx_lsp.workspace import Workspace

log = logging.getLogger(__name__)

Progress = Callable[[int, int, Path], None]
"""``progress(done, of, file)``: so many files are done, and ``file`` is begun."""


@dataclass(frozen=True)
class Problem:
    """A finding, and the edits that may mend it."""

    finding: Finding
    fixes: tuple[Fix, ...]
    proofs: Mapping[Fix, Proof] = field(default_factory=dict)
    """What came of those that were tried."""


@dataclass(frozen=True)
class Mending:
    """How far problems are to be mended, beyond being told."""

    unproven: bool = False
    """Take fixes that could not be tried, too."""
    write: bool = True
    """Change the files; else the edits are only told."""


@dataclass(frozen=True)
class Checked:
    """All that was found in some files."""

    problems: tuple[Problem, ...]
    """By path and place."""
    documents: Documents
    """The texts that the problems' places refer to."""
    results: Mapping[str, FileResult]
    """By path, in the order of the files."""
    unread: Mapping[Path, str]
    """Files that can't be read, or are not Python that parses, and why."""
    edits: Mapping[str, str] = field(default_factory=dict)
    """Path -> new text, of each file that was to be mended; the problems are those that are left then."""

    def traced_targets(self) -> list[int]:
        """Of each file that has some, how many targets were traced, to their end or to a failure."""
        counts = (sum(traced.is_told for traced in result.traced.values()) for result in self.results.values())
        return [count for count in counts if count]


async def check(
    paths: Sequence[Path],
    settings: Settings | None = None,
    *,
    scope: Scope | None = None,
    jobs: int = 1,
    cache: Cache | None = None,
    cluster: str | None = None,
    mending: Mending | None = None,
    with_fixes: bool = True,
    progress: Progress = lambda done, of, file: None,
) -> Checked:
    """Trace the targets of the files that ``paths`` name (see `fx_lsp.python_files.files_of`), ``jobs`` at a time.

    What is found, and its order, does not depend on ``jobs``. ``settings`` go before those of each file's project;
    ``scope`` says which of the files to take; what ``cache`` has is not traced again; with ``mending``, fixes are
    applied first; without ``with_fixes``, which take a while, none are looked for to be told. ``cluster`` is the
    address of a Dask scheduler, whose workers trace instead of this machine, as many files at a time as they can; what
    they find is not kept.

    Raises CannotCheck where a path does not exist, a project's settings can't be used, a notebook is to be mended, or
    there is no PyTorch to trace with.
    """
    files = (scope or Scope()).of(paths)
    if mending and (notebook := next(filter(_is_notebook, files), None)):
        raise CannotCheck(f"{notebook} can't be mended: only the problems of notebooks are told.")
    async with contextlib.AsyncExitStack() as stack:
        workers = None
        if cluster is not None and files:
            workers = await stack.enter_async_context(connected(cluster))
            await workers.send(folders_of(paths), files[0])
            jobs = workers.threads
        shared = _shared_out(settings or Settings(), jobs, len(files))
        run = _Run(folders_of(paths), shared, cache, workers, with_fixes=with_fixes, edits=mending is not None)
        stack.push_async_callback(run.close)
        return await run.check(files, jobs, progress, mending)


def _shared_out(settings: Settings, jobs: int, files: int) -> Settings:
    """``settings`` with the number of targets that are traced at a time in each of the files that are at a time."""
    return dataclasses.replace(settings, jobs=max(1, jobs // max(1, files)))


class _Run:
    """The rooms of the server, put together without a client."""

    def __init__(
        self,
        folders: Sequence[str],
        settings: Settings,
        cache: Cache | None,
        cluster: Cluster | None,
        *,
        with_fixes: bool,
        edits: bool,
    ) -> None:
        # What is found in texts that are being edited is not what the files on the disk have.
        kept = None if edits else cache
        self._settings = settings
        self._cache = cache
        self._fixes_for = partial(kept_fixes_for, kept) if kept else fixes_for
        self._cluster = cluster
        self._with_fixes = with_fixes
        self._problem: str | None = None
        self._no_notebooks: dict[Path, str] = {}
        """Files that should be notebooks, and why they are none."""
        self._documents = Documents()
        self._workspace = Workspace(folders)
        self._agents = AgentPool(self._interpreter, self._start_agent)
        finder = KeepingFinder(folders, self._documents.text, kept) if kept else None
        self._analysis = Analysis(self._documents, self._workspace, self._agents.agent_for, self._settings_of, finder)
        self._proofs = Proofs(self._analysis, self._agents.agent_for)

    async def check(self, files: Sequence[Path], jobs: int, progress: Progress, mending: Mending | None) -> Checked:
        """See `check` above."""
        for file in filter(_is_notebook, files):
            self._open_notebook(file)
        await self._trace([file for file in files if file not in self._no_notebooks], jobs, progress)
        edits = await self._mend(files, mending) if mending else {}
        findings = sorted(merged(self._analysis.findings()), key=lambda found: (found.place.path, found.place.start))
        results = self._analysis.results
        return Checked(
            problems=tuple(map(self._told, findings)),
            documents=self._documents,
            results=results,
            unread={
                file: self._no_notebooks.get(file) or why_not_python(str(file))
                for file in files
                if not self._is_read(str(file))
            },
            edits=edits,
        )

    def _open_notebook(self, file: Path) -> None:
        try:
            self._documents.open_notebook(str(file), read_notebook(file), 0)
        except OSError as error:
            self._no_notebooks[file] = f"it can't be read: {error.strerror}"
        except ValueError as error:
            self._no_notebooks[file] = str(error)

    def _is_read(self, path: str) -> bool:
        return path in self._analysis.results and self._documents.lines(path) is not None

    async def close(self) -> None:
        """Stop all work and every tracing process."""
        await self._analysis.close()
        await self._agents.close()

    async def _trace(self, files: Sequence[Path], jobs: int, progress: Progress) -> None:
        """Trace the files, the longest first: the last one to end is not to keep all others waiting."""
        waiting = enumerate(sorted(files, key=_size, reverse=True))

        async def work() -> None:
            for done, file in waiting:
                progress(done, len(files), file)
                await self._analysis.trace(str(file))
                if self._problem is not None:
                    raise CannotCheck(self._problem)

        workers = [asyncio.create_task(work()) for _ in range(jobs)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        results = self._analysis.results
        in_order = {str(file): results[str(file)] for file in files if str(file) in results}
        results.clear()
        results.update(in_order)

    async def _mend(self, files: Sequence[Path], mending: Mending) -> dict[str, str]:
        edits = await mend(self._analysis, self._proofs, [str(file) for file in files], unproven=mending.unproven)
        if mending.write:
            for path, text in edits.items():
                try:
                    write(path, text)
                except (OSError, UnicodeEncodeError) as error:
                    raise CannotCheck(f"{path} can't be written: {error}.") from error
        return edits

    def _told(self, finding: Finding) -> Problem:
        fixes = self._fixes(finding) if self._with_fixes else ()
        tried = {fix: self._proofs.known(finding.failure, fix) for fix in fixes}
        return Problem(finding, fixes, {fix: proof for fix, proof in tried.items() if proof})

    def _fixes(self, finding: Finding) -> tuple[Fix, ...]:
        """The edits that may mend it; none where this Python has no libcst, as that of an editor's bundle may not."""
        try:
            return self._fixes_for(finding.failure, self._own_text, calls_with(finding.failure, self._analysis.results))
        except ImportError as error:
            log.warning("no fixes: %s", error)
            return ()

    def _own_text(self, path: str) -> str | None:
        """The text of a file that is the user's to edit."""
        roots = self._workspace.roots_of(path)
        return self._documents.text(path) if self._workspace.owns(path, roots) else None

    def _settings_of(self, path: str) -> Settings:
        project = project_of(path)
        for mistake in project.mistakes:
            raise CannotCheck(f"{mistake.file}:{mistake.line}: {mistake.reason}")
        return self._settings.over(project.settings)

    def _interpreter(self, folder: Path) -> Interpreter:
        if self._settings.interpreter:
            return Interpreter(self._settings.interpreter, "--python")
        return choose(folder, setting=self._settings_of(str(folder / FILE)).interpreter)

    def _start_agent(self, interpreter: Interpreter, folder: Path) -> TracingAgent:
        if self._cluster is not None:
            return ClusterAgent(self._cluster, self._settings_of(str(folder / FILE)).interpreter, folder)

        def on_state(state: AgentState) -> None:
            if state.phase in ("no-torch", "failed"):
                self._problem = _why_not(state, interpreter)

        agent = Agent(
            interpreter.command,
            cwd=folder,
            env=None,
            log=lambda line: log.info("agent: %s", line),
            on_state=on_state,
        )
        return RememberingAgent(agent, self._cache, interpreter.command, {}, warm=False) if self._cache else agent


def _is_notebook(file: Path) -> bool:
    return file.suffix == NOTEBOOK


def _size(file: Path) -> int:
    """Bytes; 0 of what can't be read."""
    with contextlib.suppress(OSError):
        return file.stat().st_size
    return 0


def _why_not(state: AgentState, interpreter: Interpreter) -> str:
    """One line on an agent that can't work: which Python it is, and what to do."""
    python = f"{' '.join(interpreter.command)} (from {interpreter.origin})"
    reason = " ".join((state.problem or "").split())
    if state.phase == "no-torch":
        return (
            f"{python} has no PyTorch that can be used. {reason} "
            "Install torch there, or name your project's Python with --python."
        )
    return f"the tracing process of {python} does not run. {reason}"
