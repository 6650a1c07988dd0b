"""An agent that answers what a test tells it to, and the documents and the scheduler around it."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lsprotocol import types

from fx_lsp.agent.messages import (
    Costs,
    Details,
    Done,
    Failure,
    Outcome,
    Preload,
    Proof,
    Prove,
    Report,
    Span,
    Step,
    Target,
    Trace,
    Verdict,
)
from fx_lsp.analysis.findings import Finding
from fx_lsp.analysis.fix_proofs import FixProofs
from fx_lsp.analysis.graph_descriptions import GraphDescriptions
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.documents.documents import Documents
from fx_lsp.documents.positions import Change, LineIndex
from fx_lsp.server.features.client_places import ClientPlaces
from fx_lsp.server.features.diagnostics import Shows, diagnostic
from fx_lsp.settings.settings import Settings
from fx_lsp.workspace.workspace import Workspace

PATIENCE = 20.0
"""Seconds that a test waits for something before it counts as never to come."""


@dataclass
class Request:
    """One call to ``trace``, still to be answered."""

    message: Trace
    answers: "asyncio.Queue[Report | Done | Exception]" = field(default_factory=asyncio.Queue)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def targets(self) -> tuple[Target, ...]:
        return self.message.targets

    def report(self, key: str, *failures: Failure, code: str = "", nodes: int = 0, partial: bool = False) -> None:
        self.end(key, "failed" if failures else "traced", *failures, code=code, nodes=nodes, partial=partial)

    def end(
        self, key: str, outcome: Outcome, *failures: Failure, code: str = "", nodes: int = 0, partial: bool = False
    ) -> None:
        self.answers.put_nowait(Report(1, key, outcome, failures, nodes, code, partial=partial))

    def done(self, *dependencies: str) -> None:
        self.answers.put_nowait(Done(1, dependencies))

    def fail(self, error: Exception) -> None:
        self.answers.put_nowait(error)


@dataclass
class Attempt:
    """One call to ``prove``, still to be answered."""

    message: Prove
    answer: "asyncio.Future[Proof]"

    def settle(self, verdict: Verdict, reason: str = "because") -> None:
        self.answer.set_result(Proof(1, verdict, reason))


class FakeAgent:
    def __init__(self) -> None:
        self.requests: asyncio.Queue[Request] = asyncio.Queue()
        self.attempts: asyncio.Queue[Attempt] = asyncio.Queue()
        self.described: asyncio.Queue[Trace] = asyncio.Queue()
        """The requests for details."""
        self.details: asyncio.Queue[Details | None] = asyncio.Queue()
        """What these are answered with; None is the end."""
        self.counted: asyncio.Queue[Trace] = asyncio.Queue()
        self.costs: asyncio.Queue[Costs | None] = asyncio.Queue()
        """As `details`."""
        self.preloaded: list[Preload] = []
        self.released: list[str] = []

    async def trace(self, message: Trace) -> AsyncGenerator[Report | Done, None]:
        request = Request(message)
        self.requests.put_nowait(request)
        try:
            while True:
                answer = await request.answers.get()
                if isinstance(answer, Exception):
                    raise answer
                yield answer
                if isinstance(answer, Done):
                    return
        finally:
            request.ended.set()

    async def describe(self, message: Trace) -> AsyncGenerator[Details, None]:
        self.described.put_nowait(message)
        while (details := await self.details.get()) is not None:
            yield details

    async def count(self, message: Trace) -> AsyncGenerator[Costs, None]:
        self.counted.put_nowait(message)
        while (costs := await self.costs.get()) is not None:
            yield costs

    async def prove(self, message: Prove) -> Proof:
        answer: asyncio.Future[Proof] = asyncio.get_running_loop().create_future()
        self.attempts.put_nowait(Attempt(message, answer))
        return await answer

    async def start(self) -> None:
        pass

    async def preload(self, message: Preload) -> None:
        self.preloaded.append(message)

    def release(self, file: str) -> None:
        self.released.append(file)

    async def close(self) -> None:
        pass

    async def tried(self) -> Attempt:
        """The next edit that is tried."""
        return await asyncio.wait_for(self.attempts.get(), PATIENCE)

    async def asked(self) -> Request:
        """The next request."""
        return await asyncio.wait_for(self.requests.get(), PATIENCE)


class Bench:
    """A scheduler for the files in ``folder``, with a fake agent."""

    def __init__(self, folder: Path, *, delay: float = 0.0) -> None:
        self.folder = folder
        self.agent = FakeAgent()
        self.documents = Documents()
        self.settings = Settings(trace_delay=round(delay * 1000))
        self.scheduler = Scheduler(
            self.documents,
            Workspace([str(folder)]),
            lambda path: self.agent,
            lambda path: self.settings,
            gives_way=True,
        )
        self.proofs = FixProofs(self.scheduler)
        self.descriptions = GraphDescriptions(self.scheduler)
        self.results: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()
        self.scheduler.on_result = lambda path, complete: self.results.put_nowait((path, complete))

    def file(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
        return str(path)

    def open(self, name: str, text: str) -> str:
        """Write a file, and open it."""
        path = self.file(name, text)
        self.documents.open(path, text, 1)
        self.scheduler.opened(path)
        return path

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace the first ``old`` in an open file with ``new``, as an editor would."""
        lines = self.documents.lines(path)
        assert lines is not None
        start = lines.text.index(old)
        version = (self.documents.version(path) or 0) + 1
        self.documents.change(path, [change_of(lines, start, start + len(old), new)], version)
        self.scheduler.edited(path)

    async def complete(self, path: str) -> None:
        """Wait until the text of ``path`` is dealt with."""
        while await asyncio.wait_for(self.results.get(), PATIENCE) != (path, True):
            pass
        for _ in range(2):  # the task that told the result ends, and then the scheduler hears of it
            await asyncio.sleep(0)

    async def traced(self, path: str, *failures: Failure, dependencies: Sequence[str] = ()) -> Request:
        """Answer the next request with ``failures`` for its first target; return when that is kept."""
        request = await self.agent.asked()
        request.report(request.targets[0].key, *failures)
        request.done(*dependencies)
        await self.complete(path)
        return request

    def found(self) -> list[tuple[str, str]]:
        """The file name and the text of each finding, as they are now."""
        return [
            (
                Path(finding.place.path).name,
                (self.documents.text(finding.place.path) or "")[finding.place.start : finding.place.end],
            )
            for finding in self.scheduler.results.findings()
        ]


def change_of(lines: LineIndex, start: int, end: int, text: str) -> Change:
    return Change(text, lines.position(start, "utf-16"), lines.position(end, "utf-16"))


def span_of(path: str, text: str, part: str) -> Span:
    """Where ``part`` first stands in ``text``, as the compiler counts."""
    lines = LineIndex(text)
    start = lines.position(text.index(part), "utf-8")
    end = lines.position(text.index(part) + len(part), "utf-8")
    return Span(path, start.line + 1, start.character, end.line + 1, end.character)


def failure_at(*spans: Span, kind: str = "len") -> Failure:
    return Failure(kind, "RuntimeError: no", tuple(Step(f"f{index}", span) for index, span in enumerate(spans)))


def shown_of(finding: Finding, places: ClientPlaces) -> types.Diagnostic:
    """The diagnostic that the client shows of a finding."""
    found = places.location(finding.place)
    assert found is not None
    return diagnostic(finding, found.range, places, Shows(related=False, described=False, data=False))
