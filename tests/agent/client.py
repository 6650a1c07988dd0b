"""Asking a real agent for traces by expression, and reading what comes back by the text that it points to."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
import textwrap
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path

from fx_lsp.agent.messages import Capture, Done, Limits, Purpose, Recipe, Report, Snippet, Span, Step, Target, Trace
from fx_lsp.supervisor.supervised_agent import AgentState, SupervisedAgent

ENDLESS = "while True: pass" if sys.version_info < (3, 12) else "True" if sys.version_info < (3, 14) else "pass"
"""The part of ``while True: pass`` that Python says it is running."""

PATIENT = Limits(seconds=60)
"""For traces that end by themselves, on a machine that may be busy."""


@dataclass
class Answer:
    """All that came back for one request."""

    reports: dict[str, Report] = field(default_factory=dict)
    done: Done | None = None

    @property
    def only(self) -> Report:
        (report,) = self.reports.values()
        return report


@dataclass
class Client:
    """An agent and what it told."""

    agent: SupervisedAgent
    root: Path
    states: list[AgentState]
    log: list[str]

    @property
    def phases(self) -> list[str]:
        return [state.phase for state in self.states]

    def write(self, name: str, text: str) -> str:
        """Put a file into the workspace; its path."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return str(path)

    async def trace(
        self,
        file: str,
        *targets: str | Target,
        overlays: dict[str, str] | None = None,
        limits: Limits = PATIENT,
        capture: Capture = "fx",
        purpose: Purpose = "once",
        root: str = "",
    ) -> Answer:
        """Trace targets, or what the expressions among them yield, and wait for the last word."""
        answer = Answer()
        stream = self.stream(
            file, *targets, overlays=overlays, limits=limits, capture=capture, purpose=purpose, root=root
        )
        async with contextlib.aclosing(stream):
            async for item in stream:
                if isinstance(item, Report):
                    before = answer.reports.get(item.target)
                    assert before is None or first_of(item) == first_of(before), "two answers"
                    answer.reports[item.target] = item
                else:
                    answer.done = item
        assert answer.done is not None
        return answer

    def stream(
        self,
        file: str,
        *targets: str | Target,
        overlays: dict[str, str] | None = None,
        limits: Limits = PATIENT,
        capture: Capture = "fx",
        purpose: Purpose = "once",
        root: str = "",
    ) -> AsyncGenerator[Report | Done, None]:
        """``root`` is the workspace's folder, relative to the client's."""
        wanted = tuple(target if isinstance(target, Target) else target_of(file, target) for target in targets)
        roots = (str(self.root / root),)
        return self.agent.trace(Trace(file, wanted, overlays or {}, roots, limits, capture=capture, purpose=purpose))


def target_of(
    file: str,
    expression: str,
    line: int = 1,
    *,
    setup: tuple[Snippet, ...] = (),
    concrete_args: Snippet | None = None,
    tracer: Snippet | None = None,
    inputs: Snippet | None = None,
) -> Target:
    """A target whose key is the expression that builds it."""
    recipe = Recipe(Snippet(expression, line), setup, concrete_args, tracer, inputs=inputs)
    return Target(expression, expression, Span(file, line, 0, line, 1), recipe)


def text_at(step: Step) -> str:
    """The source that a step points to."""
    lines = Path(step.span.file).read_bytes().splitlines()[step.span.line - 1 : step.span.end_line]
    lines[-1] = lines[-1][: step.span.end_col]
    lines[0] = lines[0][step.span.col :]
    return b"\n".join(lines).decode()


def failing_text(report: Report) -> str:
    """The source that the report's only failure points to."""
    (failure,) = report.failures
    return text_at(failure.chain[-1])


def make_client(root: Path, *python: str, env: dict[str, str] | None = None) -> Client:
    states: list[AgentState] = []
    log: list[str] = []
    agent = SupervisedAgent(python or (sys.executable,), cwd=root, env=env, log=log.append, on_state=states.append)
    return Client(agent, root, states, log)


async def printed_pid(client: Client) -> int:
    """The process id that the traced code prints, as soon as it does, behind the word ``pid``."""

    async def read() -> int:
        while not (found := re.search(r"^pid (\d+)$", "\n".join(client.log), re.MULTILINE)):
            await asyncio.sleep(0.01)
        return int(found[1])

    return await asyncio.wait_for(read(), 300)


async def gone(pid: int) -> None:
    """Wait until there is no such process."""

    def alive() -> bool:
        with contextlib.suppress(OSError):
            return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
        return False

    async def watch() -> None:
        while alive():
            await asyncio.sleep(0.01)

    await asyncio.wait_for(watch(), 300)


def first_of(report: Report) -> tuple[str, tuple[Step, ...] | None]:
    """The outcome that a report tells, and where it first fails: a fuller report tells the same."""
    return report.outcome, report.failures[0].chain if report.failures else None
