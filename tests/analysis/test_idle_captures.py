"""When targets are captured in an editor: after their traces, where the workspace does so, until the next keystroke."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from fx_lsp.agent.messages import Failure
from fx_lsp.analysis.engine import Engine
from fx_lsp.analysis.idle_captures import IdleCaptures
from fx_lsp.documents.positions import Change, Position
from fx_lsp.rules import Severity
from fx_lsp.settings.settings import Settings
from fx_lsp.supervisor.agent_pool import TracingAgent
from tests.analysis.fake_agent import PATIENCE, FakeAgent, Request, failure_at, span_of

NET = """\
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return x / len(x)

Net()(torch.ones(3))
"""
EXPORTED = NET + "torch.export.export(Net(), (torch.ones(3),))\n"


class EditorEngine(Engine):
    """One agent traces, another one captures; a test answers both."""

    def __init__(self, folder: Path) -> None:
        self.tracing, self.capturing = FakeAgent(), FakeAgent()
        self.settings = Settings(trace_delay=0)
        self.path = str(folder / "net.py")
        super().__init__(lambda path: self.settings, folders=[str(folder)], interactive=True)

    def agent_for(self, path: str) -> TracingAgent:
        return self.tracing

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
