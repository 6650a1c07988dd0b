"""``fx-lsp check``: what the language server does with the files of an editor, done once with files on the disk."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fx_lsp.agent.messages import Limits, Proof
from fx_lsp.agent_pool import AgentPool
from fx_lsp.agents import Agent, AgentState
from fx_lsp.analysis import Analysis, Choices, FileResult
from fx_lsp.documents import Documents
from fx_lsp.findings import Finding, merged
from fx_lsp.fixes import Fix, fixes_for
from fx_lsp.interpreter import Interpreter, choose
from fx_lsp.mending import mend, write
from fx_lsp.proofs import Proofs
from fx_lsp.selection import Selection
from fx_lsp.tracing_calls import calls_with
from fx_lsp.workspace import Workspace

log = logging.getLogger(__name__)

_MARKS = (b"torch", b"fxcore")
"""A file of a folder is traced if it has one of these in its text."""


class CannotCheck(Exception):
    """Why nothing can be traced, in a sentence for the person who asked for it."""


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
    unread: tuple[Path, ...]
    """Files that can't be read, or are not Python that parses."""
    edits: Mapping[str, str] = field(default_factory=dict)
    """Path -> new text, of each file that was to be mended; the problems are those that are left then."""

    def traced_targets(self) -> list[int]:
        """Of each file that has some, how many targets were traced, to their end or to a failure."""
        counts = (sum(traced.is_told for traced in result.traced.values()) for result in self.results.values())
        return [count for count in counts if count]


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The files that ``paths`` name, absolute: each file itself, each folder's Python files that mention torch.

    Hidden folders, virtual environments and ``node_modules`` are left out. Raises CannotCheck for a path that does not
    exist.
    """
    found: dict[Path, None] = {}
    for path in paths:
        absolute = _absolute(path)
        if not absolute.exists():
            raise CannotCheck(f"{path} does not exist.")
        found.update(dict.fromkeys(_python_files(absolute) if absolute.is_dir() else [absolute]))
    return list(found)


def _absolute(path: Path) -> Path:
    """``path`` from the root, with symbolic links as the user wrote them."""
    return Path(os.path.normpath(path.absolute()))


def _python_files(folder: Path) -> Iterator[Path]:
    for directory, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if not _is_foreign(Path(directory, name)))
        for file in sorted(files):
            path = Path(directory, file)
            if path.suffix == ".py" and _mentions_torch(path):
                yield path


def _mentions_torch(path: Path) -> bool:
    """Whether the file has to do with torch; one that can't be read may have."""
    try:
        content = path.read_bytes()
    except OSError:
        return True
    return any(mark in content for mark in _MARKS)


def _is_foreign(folder: Path) -> bool:
    """Whether it holds what is not the user's own to read: installed packages, caches."""
    if folder.name.startswith(".") or folder.name in ("node_modules", "__pycache__", "site-packages"):
        return True
    return (folder / "pyvenv.cfg").exists() or (folder / "conda-meta").exists()


async def check(
    paths: Sequence[Path],
    *,
    python: str | None = None,
    limits: Limits | None = None,
    selection: Selection | None = None,
    mending: Mending | None = None,
    progress: Callable[[int, int, Path], None] = lambda done, of, file: None,
) -> Checked:
    """Trace the targets of the files that ``paths`` name (see `files_of`), one file after another.

    ``python`` is the interpreter to trace with, by default the one that the folder's project runs with;
    ``selection`` says what is to be heard of; with ``mending``, fixes are applied first;
    ``progress(done, of, file)`` is called before each file. Raises CannotCheck where a path does not exist, or there is
    no PyTorch to trace with.
    """
    files = files_of(paths)
    run = _Run(_folders(paths), python, Choices(limits=limits or Limits(), selection=selection or Selection()))
    try:
        return await run.check(files, progress, mending)
    finally:
        await run.close()


def _folders(paths: Sequence[Path]) -> list[str]:
    """What an editor would have open: the working directory, and folders for what lies outside of it."""
    here = Path.cwd()
    outside = [path for path in map(_absolute, paths) if not path.is_relative_to(here)]
    return [str(here), *(str(path if path.is_dir() else path.parent) for path in outside)]


class _Run:
    """The rooms of the server, put together without a client."""

    def __init__(self, folders: Sequence[str], python: str | None, choices: Choices) -> None:
        self._python = python
        self._problem: str | None = None
        self._documents = Documents()
        self._workspace = Workspace(folders)
        self._agents = AgentPool(self._interpreter, self._start_agent)
        self._analysis = Analysis(self._documents, self._workspace, self._agents.agent_for, choices=choices)
        self._proofs = Proofs(self._analysis, self._agents.agent_for)

    async def check(
        self, files: Sequence[Path], progress: Callable[[int, int, Path], None], mending: Mending | None
    ) -> Checked:
        """See `check` above."""
        for done, file in enumerate(files):
            progress(done, len(files), file)
            await self._analysis.trace(str(file))
            if self._problem is not None:
                raise CannotCheck(self._problem)
        edits = await self._mend(files, mending) if mending else {}
        findings = sorted(merged(self._analysis.findings()), key=lambda found: (found.place.path, found.place.start))
        results = self._analysis.results
        return Checked(
            problems=tuple(map(self._told, findings)),
            documents=self._documents,
            results=results,
            unread=tuple(file for file in files if str(file) not in results or not self._documents.lines(str(file))),
            edits=edits,
        )

    async def close(self) -> None:
        """Stop all work and every tracing process."""
        await self._analysis.close()
        await self._agents.close()

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
        fixes = self._fixes(finding)
        tried = {fix: self._proofs.known(finding.failure, fix) for fix in fixes}
        return Problem(finding, fixes, {fix: proof for fix, proof in tried.items() if proof})

    def _fixes(self, finding: Finding) -> tuple[Fix, ...]:
        """The edits that may mend it; none where this Python has no libcst, as that of an editor's bundle may not."""
        try:
            return fixes_for(finding.failure, self._own_text, calls_with(finding.failure, self._analysis.results))
        except ImportError as error:
            log.warning("no fixes: %s", error)
            return ()

    def _own_text(self, path: str) -> str | None:
        """The text of a file that is the user's to edit."""
        roots = self._workspace.roots_of(path)
        return self._documents.text(path) if self._workspace.owns(path, roots) else None

    def _interpreter(self, folder: Path) -> Interpreter:
        return Interpreter((self._python,), "--python") if self._python else choose(folder)

    def _start_agent(self, interpreter: Interpreter, folder: Path) -> Agent:
        def on_state(state: AgentState) -> None:
            if state.phase in ("no-torch", "failed"):
                self._problem = _why_not(state, interpreter)

        return Agent(
            interpreter.command,
            cwd=folder,
            env=None,
            log=lambda line: log.info("agent: %s", line),
            on_state=on_state,
        )


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
