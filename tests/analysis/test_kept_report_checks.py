"""Quick answers are confirmed by a trace from the start, or replaced by one, and that is the end of it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from fx_lsp.agent.messages import Done, Failure, Purpose
from fx_lsp.analysis import kept_report_checks
from fx_lsp.analysis.engine import Engine
from fx_lsp.settings.settings import Settings
from fx_lsp.supervisor.agent_pool import TracingAgent
from fx_lsp.supervisor.keeping_agent import KeepingAgent
from tests.analysis.fake_agent import FakeAgent, failure_at, span_of

NET = """\
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return x / len(x)
"""


class Bench(Engine):
    """An engine that traces one file, with an agent that a test answers for."""

    def __init__(self, folder: Path) -> None:
        self.fake = FakeAgent()
        self.keeping = KeepingAgent(self.fake)
        self.path = str(folder / "net.py")
        super().__init__(lambda path: Settings(trace_delay=0), folders=[str(folder)], interactive=True)
        Path(self.path).write_text(NET, encoding="utf-8")
        self.documents.open(self.path, NET, 1)

    def agent_for(self, path: str) -> TracingAgent:
        return self.keeping

    async def answer(self, *failures: Failure, quick: bool = True) -> Purpose:
        """Answer the next trace, ``quick`` unless it is to be from the start; return its purpose."""
        request = await self.fake.asked()
        request.report("class:Net", *failures)
        request.answers.put_nowait(Done(1, quick=quick and request.message.purpose != "confirm"))
        while self.scheduler.is_tracing(self.path):
            await asyncio.sleep(0)
        return request.message.purpose


@pytest_asyncio.fixture
async def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    for name in ("PREPARE_SECONDS", "CONFIRM_SECONDS"):
        monkeypatch.setattr(kept_report_checks, name, 0)
    bench = Bench(tmp_path)
    bench.scheduler.opened(bench.path)
    yield bench
    await bench.close()


def at_len(bench: Bench) -> Failure:
    return failure_at(span_of(bench.path, NET, "len(x)"))


@pytest.mark.asyncio
async def test_a_quick_answer_is_confirmed_once(bench: Bench) -> None:
    assert await bench.answer() == "edit"
    assert await bench.answer() == "confirm"
    await asyncio.sleep(0.1)
    assert bench.fake.requests.empty()
    assert (bench.keeping.differences, bench.fake.released) == (0, [])


@pytest.mark.asyncio
async def test_a_report_that_is_never_the_same_is_not_traced_without_end(bench: Bench) -> None:
    assert await bench.answer() == "edit"
    assert await bench.answer(at_len(bench)) == "confirm"
    assert await bench.answer(at_len(bench), quick=False) == "edit", "what this trace reports is shown"
    assert await bench.answer() == "prepare"
    await asyncio.sleep(0.1)
    assert bench.fake.requests.empty()
    assert (bench.keeping.differences, bench.fake.released) == (1, [bench.path])
    assert bench.results[bench.path].traced["class:Net"].report
