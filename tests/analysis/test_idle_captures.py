"""When targets are captured in an editor: after their traces, where the workspace does so, until the next keystroke."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from fx_lsp.agent.messages import Failure, Report
from fx_lsp.analysis.engine import Engine
from fx_lsp.analysis.idle_captures import IdleCaptures
from fx_lsp.documents.positions import Change, Position
from fx_lsp.rules import Severity
from fx_lsp.settings.settings import Settings
from fx_lsp.supervisor.agent_pool import TracingAgent
from fx_lsp.supervisor.keeping_agent import KeepingAgent
from tests.analysis.fake_agent import PATIENCE, FakeAgent, Request, failure_at, span_of

NET = """\
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return x / len(x)

Net()(torch.ones(3))
"""
PLACES = (("forward", "data-dependent-guard"), ("len(x)", "data-dependent-size"))
EXPORTED = NET + "torch.export.export(Net(), (torch.ones(3),))\n"


class EditorEngine(Engine):
    """One agent traces, another one captures; a test answers both."""

    def __init__(self, folder: Path) -> None:
        self.tracing, self.capturing = FakeAgent(), FakeAgent()
        self.keeping = KeepingAgent(self.tracing)
        self.settings = Settings(trace_delay=0)
        self.path = str(folder / "net.py")
        super().__init__(lambda path: self.settings, folders=[str(folder)], interactive=True)

    def agent_for(self, path: str) -> TracingAgent:
        return self.keeping

    def _capturing_agent_for(self, path: str) -> TracingAgent:
        return self.capturing

    def open(self, text: str) -> None:
        Path(self.path).write_text(text, encoding="utf-8")
        self.documents.open(self.path, text, 1)
        self.scheduler.opened(self.path)

    def type(self, text: str) -> None:
        """Put ``text`` at the beginning of the file."""
        self.documents.change(self.path, [Change(text, Position(0, 0), Position(0, 0))], 2)
        self.edited(self.path)

    async def trace(self, *failures: Failure) -> None:
        """Answer the next trace."""
        request = await self.tracing.asked()
        request.report("class:Net", *failures)
        request.done()
        while self.scheduler.is_tracing(self.path):
            await asyncio.sleep(0)

    async def capture(self, *failures: Failure) -> Request:
        """Answer the next capture."""
        request = await self.capturing.asked()
        assert not self.scheduler.is_tracing(self.path)
        request.report("class:Net", *failures)
        request.done()
        return request

    async def shows(self, *wanted: tuple[str, Severity]) -> None:
        """Wait until these codes and severities are shown."""

        async def poll() -> None:
            while [(found.rule.code, found.severity) for found in self.results.findings()] != [*wanted]:
                await asyncio.sleep(0.01)

        await asyncio.wait_for(poll(), PATIENCE)


@pytest_asyncio.fixture
async def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EditorEngine]:
    monkeypatch.setattr(IdleCaptures, "quiet_seconds", 0)
    engine = EditorEngine(tmp_path)
    yield engine
    await engine.close()


def at_len(engine: EditorEngine, kind: str = "len") -> Failure:
    return failure_at(span_of(engine.path, EXPORTED, "len(x)"), kind=kind)


async def test_what_is_exported_is_captured_after_its_trace(engine: EditorEngine) -> None:
    engine.open(EXPORTED)
    traced = await engine.tracing.asked()
    assert traced.message.capture == "fx"
    assert engine.capturing.requests.empty()
    traced.report("class:Net", at_len(engine))
    traced.done()
    request = await engine.capture(at_len(engine, "data-dependent-guard"))
    assert request.message.capture == "export"
    await engine.shows(("data-dependent-guard", "error"))
    assert engine.capturing.requests.empty(), "nobody compiles it"


async def test_until_then_it_is_judged_by_its_trace(engine: EditorEngine) -> None:
    engine.open(EXPORTED)
    traced = await engine.tracing.asked()
    traced.report("class:Net", at_len(engine))
    await engine.shows(("len", "warning"))
    traced.done()
    await engine.shows()
    await engine.capture()


async def test_a_keystroke_ends_a_capture_and_another_one_follows(engine: EditorEngine) -> None:
    engine.open(EXPORTED)
    await engine.trace()
    first = await engine.capturing.asked()
    engine.type("# a comment\n")
    await asyncio.wait_for(first.ended.wait(), PATIENCE)
    await engine.trace()
    second = await engine.capture()
    assert second.message.overlays[engine.path].startswith("# a comment")


async def test_what_a_capture_found_follows_its_text_until_the_next_one(engine: EditorEngine) -> None:
    engine.open(EXPORTED)
    await engine.trace()
    await engine.capture(at_len(engine, "data-dependent-guard"))
    await engine.shows(("data-dependent-guard", "error"))
    engine.type("# a comment\n")
    await engine.trace()
    again = await engine.capturing.asked()
    await engine.shows(("data-dependent-guard", "error"))
    again.report("class:Net")
    again.done()
    await engine.shows()


async def test_nothing_is_captured_where_nothing_is_used_until_someone_asks(engine: EditorEngine) -> None:
    engine.open(NET)
    await engine.trace(at_len(engine))
    engine.idle_captures.want(engine.path, "class:Net")
    assert [(await engine.capture()).message.capture for _ in range(2)] == ["export", "compile"]
    await engine.shows(("len", "warning"))


async def test_what_is_no_longer_used_is_dropped(engine: EditorEngine) -> None:
    engine.open(EXPORTED)
    await engine.trace(at_len(engine))
    await engine.capture()
    text = engine.documents.text(engine.path) or ""
    start = text.index("torch.export")
    engine.documents.replace(engine.path, start, len(text), "", 2)
    engine.edited(engine.path)
    await engine.trace(at_len(engine))
    await engine.shows(("len", "warning"))
    assert engine.results[engine.path].captured == {}


async def test_a_paused_editor_captures_nothing(engine: EditorEngine) -> None:
    engine.open(EXPORTED)
    await engine.trace()
    engine.pause()
    await asyncio.sleep(0)
    assert engine.capturing.requests.empty()
    engine.resume()
    await engine.capture()


async def test_a_text_that_is_not_traced_is_not_captured(engine: EditorEngine) -> None:
    engine.open(EXPORTED)
    await engine.trace()
    first = await engine.capturing.asked()
    engine.type("(")
    await asyncio.wait_for(first.ended.wait(), PATIENCE)
    assert not engine.results[engine.path].parses
    for _ in range(10):
        engine.idle_captures.begin(at_once=True)
        await asyncio.sleep(0.01)
    assert engine.capturing.requests.empty()


async def test_what_a_capture_found_is_dropped_when_the_file_cannot_be_imported(engine: EditorEngine) -> None:
    engine.open(EXPORTED)
    await engine.trace()
    await engine.capture(at_len(engine, "data-dependent-guard"))
    await engine.shows(("data-dependent-guard", "error"))
    engine.type("import nothing\n")
    request = await engine.tracing.asked()
    failure = failure_at(span_of(engine.path, f"import nothing\n{EXPORTED}", "import nothing"), kind="import")
    request.answers.put_nowait(Report(1, "class:Net", "not-imported", (failure,)))
    request.done()
    await engine.shows(("import", "warning"))
    assert engine.results[engine.path].captured == {}


@pytest.mark.parametrize("is_whole", [True, False])
async def test_further_failures_stay_until_all_are_looked_for(engine: EditorEngine, is_whole: bool) -> None:
    def failures() -> tuple[Failure, Failure]:
        text = engine.documents.text(engine.path) or ""
        first, second = (failure_at(span_of(engine.path, text, part), kind=kind) for part, kind in PLACES)
        return first, second

    guard: tuple[str, Severity] = ("data-dependent-guard", "error")
    size: tuple[str, Severity] = ("data-dependent-size", "error")
    engine.open(EXPORTED)
    await engine.trace()
    await engine.capture(*failures())
    await engine.shows(guard, size)
    engine.type("# a comment\n")
    await engine.trace()
    again = await engine.capturing.asked()
    again.report("class:Net", failures()[0], partial=True)
    await asyncio.sleep(0.05)
    await engine.shows(guard, size)
    if is_whole:
        again.report("class:Net", failures()[0])
    again.done()
    await engine.shows(guard)


async def test_a_capture_that_no_agent_makes_leaves_no_older_verdict(engine: EditorEngine) -> None:
    engine.open(EXPORTED)
    await engine.trace()
    await engine.capture(at_len(engine, "data-dependent-guard"))
    await engine.shows(("data-dependent-guard", "error"))
    engine.type("# a comment\n")
    await engine.trace()
    (await engine.capturing.asked()).done()
    await engine.shows()
    assert engine.results[engine.path].captured == {}


async def test_a_target_that_is_asked_for_during_a_capture_gets_every_capture(engine: EditorEngine) -> None:
    other = NET.partition("nn\n")[2].replace("Net", "Other")
    engine.open(EXPORTED + other)
    request = await engine.tracing.asked()
    for target in request.targets:
        request.report(target.key)
    request.done()
    assert [target.key for target in (await engine.capturing.asked()).targets] == ["class:Net"]
    engine.idle_captures.want(engine.path, "class:Other")
    again = await engine.capturing.asked()
    assert (again.message.capture, {target.key for target in again.targets}) == ("export", {"class:Net", "class:Other"})
