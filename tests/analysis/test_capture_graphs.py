"""When the graphs of other captures than traces are described."""

import asyncio
from pathlib import Path

from fx_lsp.agent.messages import Details
from tests.analysis.fake_agent import PATIENCE
from tests.analysis.test_engine import MODEL, answered
from tests.analysis.test_target_captures import CapturingEngine


async def captured(engine: CapturingEngine, path: str, key: str) -> None:
    """Export the target anew; the agent answers that this works."""
    capturing = asyncio.create_task(engine.captures.capture(path, "export", engine.scheduler.results[path].traced))
    request = await engine.agent.asked()
    request.report(key)
    request.done()
    await capturing


async def described(engine: CapturingEngine, key: str) -> None:
    """Answer the next request for details."""
    await asyncio.wait_for(engine.agent.described.get(), PATIENCE)
    told = asyncio.Event()
    engine.capture_graphs.on_described = lambda path, key: told.set()
    engine.agent.details.put_nowait(Details(1, key, (), ()))
    engine.agent.details.put_nowait(None)
    await asyncio.wait_for(told.wait(), PATIENCE)


async def test_the_graph_of_a_new_capture_is_described_only_if_a_view_asks_for_it(tmp_path: Path) -> None:
    engine = CapturingEngine(tmp_path, interactive=False)
    engine.captures.on_captured = engine.capture_graphs.on_captured
    path = str(tmp_path / "model.py")
    engine.documents.open(path, MODEL, 1)
    engine.scheduler.opened(path)
    await answered(engine, path)
    (key,) = engine.scheduler.results[path].traced
    assert engine.capture_graphs.of(path, key, "export") is None
    await captured(engine, path, key)
    await described(engine, key)
    first = engine.capture_graphs.of(path, key, "export")
    assert first is not None
    await captured(engine, path, key)
    assert not engine.capture_graphs.is_due
    assert engine.capture_graphs.of(path, key, "export") is first
    await described(engine, key)
    assert engine.capture_graphs.of(path, key, "export") is not first
    await engine.close()
