"""What the tools do: traces files of one folder, unsaved text included, tries edits and applies proven ones.

Answers are short texts for a coding agent. Everything runs in the same confined processes, with the same limits, as in
an editor.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fx_lsp.agent.messages import GraphNode, Proof
from fx_lsp.analysis.apply_fixes import write
from fx_lsp.analysis.engine import Engine
from fx_lsp.analysis.findings import Finding, merged
from fx_lsp.analysis.results import Traced
from fx_lsp.check.check_files import Problem
from fx_lsp.check.compact_problem import diff_lines, edit_lines, problem_lines
from fx_lsp.documents.documents import on_disk, why_not_python
from fx_lsp.errors import CannotCheck
from fx_lsp.fixes import Fix
from fx_lsp.fixes.editing.line_changes import changes_between
from fx_lsp.fixes.editing.text_edits import applied
from fx_lsp.interpreters.interpreter_choice import Interpreter
from fx_lsp.settings.pyproject import project_of
from fx_lsp.supervisor.supervised_agent import AgentState, why_not
from fx_lsp.workspace.disk_cache import Cache
from fx_lsp.workspace.file_digests import file_digest

LONGEST = 2000
"""How many characters of one line of an answer are kept: messages of exceptions can be of any length."""


@dataclass(frozen=True)
class _Offer:
    """The edits that were listed for a file."""

    edits: Sequence[tuple[Finding, Fix]]
    """In the order of their numbers."""
    text: str | None
    """The text that the agent gave for the file; None if it was traced as it is on disk."""
    digests: Mapping[str, str]
    """The digest on disk (empty: no such file) of the file itself and of each file that an edit changes."""


class Workbench:
    """The files of one folder, as an agent works on them. Must be used from one event loop, one tool at a time.

    Every tool raises CannotCheck, with a message for the agent, if it can't do its work.
    """

    def __init__(self, folder: Path, *, python: Sequence[str] = (), cache: Cache | None = None) -> None:
        """``python`` is the command of the Python that traces; if empty, it is chosen for each file."""
        self._folder = Path(os.path.normpath(folder.absolute()))
        self._why_not: dict[tuple[str, ...], str | None] = {}
        """By the command of a Python: why it can't trace; None while it can."""
        self._engine = Engine(
            lambda path: project_of(path).settings,
            folders=[str(self._folder)],
            python=python,
            on_agent_state=self._on_agent_state,
            cache=cache,
        )
        self._documents = self._engine.documents
        self._trials = self._engine.proofs.trials
        self._offers: dict[str, _Offer] = {}
        """By file: the edits that were last listed for it."""

    async def close(self) -> None:
        """End every tracing process."""
        await self._engine.close()

    async def trace(self, path: str, text: str | None, target: str | None, first: int, count: int) -> str:
        """The verdict of each target of a file, and one line for each problem."""
        file = await self._traced(path, text)
        targets = [item for item in self._targets(file) if target in (None, item.target.symbol, item.target.title)]
        if not targets:
            return f"{path} has nothing to trace." if target is None else f"{path} has no target {target!r}."
        verdicts = [f"{item.target.title}: {_verdict(item)}" for item in targets]
        shown = {item.target.title for item in targets}
        problems = [problem for problem in self._problems() if shown & {*problem.finding.targets}]
        lines = [next(iter(problem_lines(problem, self._documents))) for problem in problems]
        return _page([*verdicts, *lines], first, count)

    async def problems(self, path: str, text: str | None, first: int, count: int) -> str:
        """The problems of a file with their causes and edits; the edits are tried first, and numbered."""
        digest = file_digest(self._file(path))
        file = await self._traced(path, text)
        problems = self._problems()
        offered: list[tuple[Finding, Fix]] = []
        blocks = []
        for number, problem in enumerate(problems, 1):
            wanted = first <= number < first + count
            lines = list(problem_lines(problem, self._documents)) if wanted else []
            async for fix in self._trials.one_by_one(problem.finding.failure):
                offered.append((problem.finding, fix))
                if wanted:
                    proof = await self._trials.prove(problem.finding.failure, fix)
                    lines += [f"edit {len(offered)} ({proof.verdict}): {fix.title}. {proof.reason}"]
                    lines += edit_lines(fix, self._documents) if proof.verdict == "proven" else ()
            blocks += ["\n".join(map(_cut, lines))] if wanted else []
        changed = {change.span.file for _, fix in offered for change in fix.changes}
        digests = {other: file_digest(other) for other in changed}
        self._offers[file] = _Offer(offered, text, {**digests, file: digest})
        if not problems:
            return f"{path} has no problems."
        return "\n\n".join([*blocks, *_rest(len(problems), "problem", first, count)])

    async def apply_edit(self, path: str, number: int) -> str:
        """Write the proven edit of this number to the files that it changes."""
        offer = self._offers.get(self._file(path))
        if offer is None or not 1 <= number <= len(offer.edits):
            raise CannotCheck(f"{path} has no edit {number}; list its problems first.")
        file = await self._traced(path, offer.text)
        finding, fix = offer.edits[number - 1]
        proof = await self._trials.prove(finding.failure, fix)
        edited = applied(fix.changes, self._documents.lines)
        for changed in edited:
            _check_unchanged(self._file(changed), offer)
        if proof.verdict != "proven":
            raise CannotCheck(f"Edit {number} is not proven ({proof.verdict}): {proof.reason}")
        shown = [line for changed, new in edited.items() for line in diff_lines(changed, self._text(changed), new)]
        for changed, new in edited.items():
            try:
                write(changed, new)
            except (OSError, UnicodeEncodeError) as error:
                raise CannotCheck(f"{changed} can't be written: {error}.") from error
        del self._offers[file]
        await self._traced(path, None)
        return "\n".join([*shown, f"{path} has {_counted(len(self._problems()), 'problem')} left."])

    async def try_text(self, path: str, text: str, target: str | None) -> str:
        """Whether each target of a file can be traced with another text and does the same on example inputs.

        Nothing is written.
        """
        file = await self._traced(path, None)
        changes = changes_between(file, self._text(file), text)
        if not changes:
            raise CannotCheck("The text is the same as that of the file.")
        fix = Fix("the agent's own", changes)
        targets = [item for item in self._targets(file) if target in (None, item.target.symbol, item.target.title)]
        if not targets:
            raise CannotCheck(f"{path} has no target {target!r}." if target else f"{path} has nothing to trace.")
        lines = []
        for item in targets:
            failures = item.report.failures if item.report else ()
            proof = await self._trials.attempt(file, item, failures, fix)
            lines.append(f"{item.target.title}: {_proven(proof)}")
        return "\n".join(map(_cut, lines))

    async def forward(self, path: str, target: str | None, first: int, count: int) -> str:
        """The generated code of a target."""
        item = self._target(await self._traced(path, None), path, target)
        code = item.report.code if item.report else ""
        if not code.strip():
            raise CannotCheck(f"{item.target.title} has no generated code: {_verdict(item)}")
        return _page(code.strip("\n").splitlines(), first, count)

    async def graph(self, path: str, target: str | None, first: int, count: int) -> str:
        """The nodes of a target's graph, with the shapes of their values for an example input."""
        file = await self._traced(path, None)
        item = self._target(file, path, target)
        self._engine.descriptions.want(file, item.target.key)
        await self._engine.descriptions.work()
        described = self._engine.descriptions.of(file, item.target.key)
        if described is None:
            raise CannotCheck(f"{item.target.title} has no graph: {_verdict(item)}")
        parameters = item.report.parameters if item.report else 0
        head = [f"{item.target.title}: {len(described.details.nodes)} nodes, {parameters} parameters"]
        head += [f"for the input {described.details.input}"] if described.details.input else []
        return "\n".join([*map(_cut, head), _page([*map(_node, described.details.nodes)], first, count)])

    async def which(self, path: str) -> str:
        """The Python that traces a file, and why."""
        return "\n".join(self._engine.interpreter_of(self._file(path)).reasons)

    async def _traced(self, path: str, text: str | None) -> str:
        """Trace a file with ``text``, or as it is on disk, and return its absolute path.

        Every other file counts as it is on disk now, whatever an earlier tool was given.
        """
        file = self._file(path)
        if text is None:
            lines = on_disk(file)
            if lines is None:
                raise CannotCheck(f"{path} can't be traced: {why_not_python(file)}.")
            text = lines.text
        for earlier in self._documents.paths:
            self._engine.closed(earlier)
        self._documents.open(file, text, 0)
        await self._engine.scheduler.trace(file)
        if problem := self._why_not.get(self._engine.interpreter_of(file).command):
            raise CannotCheck(problem)
        if file not in self._engine.results:
            raise CannotCheck(f"{path} is not valid Python.")
        return file

    def _file(self, path: str) -> str:
        """The absolute path of a Python file in the folder. Raises CannotCheck for other files."""
        file = Path(os.path.normpath(self._folder / path))
        if not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(self._folder)):
            raise CannotCheck(f"{path} is not in {self._folder}.")
        if file.suffix != ".py":
            raise CannotCheck(f"{path} is not a Python file.")
        return str(file)

    def _text(self, file: str) -> str:
        return self._documents.text(file) or ""

    def _targets(self, file: str) -> list[Traced]:
        return list(self._engine.results[file].traced.values())

    def _target(self, file: str, path: str, wanted: str | None) -> Traced:
        """The target of this name; the first one if there is no name. Raises CannotCheck."""
        targets = self._targets(file)
        for item in targets:
            if wanted in (None, item.target.symbol, item.target.title):
                return item
        names = ", ".join(item.target.title for item in targets) or "none"
        raise CannotCheck(f"{path} has no target {wanted!r}; its targets: {names}.")

    def _problems(self) -> list[Problem]:
        """The problems of the file that was traced last, in whichever file their causes are."""
        findings = sorted(
            merged(self._engine.results.findings()),
            key=lambda found: (found.place.path, found.place.start, found.rule.code),
        )
        return [Problem(finding, ()) for finding in findings]

    def _on_agent_state(self, state: AgentState, interpreter: Interpreter, folder: Path) -> None:
        remedy = "start fx-lsp mcp with --python and your project's Python"
        self._why_not[interpreter.command] = why_not(state, interpreter, remedy)


def _check_unchanged(file: str, offer: _Offer) -> None:
    """Raises CannotCheck if the file on disk is no longer what it was when the edits were listed."""
    if file_digest(file) != offer.digests.get(file):
        raise CannotCheck(f"{file} has changed on disk since its problems were listed; list them again.")


def _verdict(item: Traced) -> str:
    """What became of a target, in one line."""
    report = item.report
    if report is None:
        return "not traced"
    count = len(report.failures)
    said = f"traced, {report.nodes} nodes" if report.outcome == "traced" else report.outcome
    failures = f", {_counted(count, 'failure')}" if count else ""
    return f"{said}{failures}{f': {report.reason}' if report.reason else ''}"


def _proven(proof: Proof) -> str:
    return f"{proof.verdict}. {proof.reason}"


def _node(node: GraphNode) -> str:
    arguments = ", ".join(node.inputs)
    value = f" -> {node.value}" if node.value else ""
    line = f"  (line {node.span.line})" if node.span else ""
    return f"{node.name} = {node.op} {node.target}({arguments}){value}{line}"


def _page(lines: Iterable[str], first: int, count: int) -> str:
    """``count`` of the lines, beginning with number ``first``, and how to get the rest."""
    everything = list(lines)
    shown = everything[first - 1 : first - 1 + count]
    return "\n".join([*map(_cut, shown), *_rest(len(everything), "line", first, count)])


def _rest(total: int, noun: str, first: int, count: int) -> Iterable[str]:
    """How to get the items after the ``count`` that begin with number ``first``; or any, if these are too far on."""
    if first > max(total, 1):
        yield f"The last {noun} is number {total}; ask with a smaller first."
    elif (rest := total - (first - 1 + count)) > 0:
        yield f"{_counted(rest, f'more {noun}')}; ask with first={first + count}."


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count or 'no'} {noun}s"


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}… ({len(line) - LONGEST} more characters)"
