"""What is kept of captures other than traces, and for how long."""

import asyncio
from pathlib import Path

from fx_lsp.supervisor.agent_pool import TracingAgent
from tests.analysis.test_engine import MODEL, FakeEngine, answered


class CapturingEngine(FakeEngine):
    """Its agent answers captures, too."""

    def _capturing_agent_for(self, path: str) -> TracingAgent:
        return self.agent


async def test_a_capture_is_kept_until_its_target_is_gone(tmp_path: Path) -> None:
    engine = CapturingEngine(tmp_path, interactive=False)
    path = str(tmp_path / "model.py")
    engine.documents.open(path, MODEL, 1)
    engine.scheduler.opened(path)
    await answered(engine, path)
    (key,) = engine.scheduler.results[path].traced
    capturing = asyncio.create_task(engine.captures.capture(path, "export", engine.scheduler.results[path].traced))
    request = await engine.agent.asked()
    request.report(key)
    request.done()
    await capturing
    assert list(engine.scheduler.results[path].captured) == [(key, "export")]
    engine.scheduler.opened(path)
    await answered(engine, path)
    assert list(engine.scheduler.results[path].captured) == [(key, "export")]
    engine.documents.open(path, "import torch.fx\n", 2)
    engine.scheduler.opened(path)
    while engine.scheduler.is_tracing(path):
        await asyncio.sleep(0)
    assert engine.scheduler.results[path].captured == {}
    await engine.close()
