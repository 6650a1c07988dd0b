"""What the agent loads ahead, and what another choice of a Python has traced again."""

import asyncio
from pathlib import Path

import pytest

from fx_lsp.agent.messages import Preload
from fx_lsp.analysis.engine import Engine
from fx_lsp.interpreters.interpreter_choice import Interpreter
from fx_lsp.settings.settings import Settings
from fx_lsp.supervisor.agent_pool import TracingAgent
from tests.analysis.fake_agent import PATIENCE, FakeAgent

MODEL = """\
import torch.fx
import torchvision.models
import einops

def f(x):
    return x

torch.fx.symbolic_trace(f)
"""


class FakeEngine(Engine):
    """Its agent answers what a test tells it to."""

    def __init__(self, folder: Path, *, interactive: bool) -> None:
        self.agent = FakeAgent()
        super().__init__(lambda path: Settings(trace_delay=0), folders=[str(folder)], interactive=interactive)

    def agent_for(self, path: str) -> TracingAgent:
        return self.agent


async def answered(engine: FakeEngine, path: str) -> None:
    """Answer the next request, and wait until it is dealt with."""
    request = await engine.agent.asked()
    assert engine.agent.preloaded == [], "the file comes first"
    request.report(request.targets[0].key)
    request.done()
    while engine.scheduler.is_tracing(path):
        await asyncio.wait_for(asyncio.sleep(0), PATIENCE)


async def test_what_an_open_file_imports_is_loaded_after_its_first_report(tmp_path: Path) -> None:
    engine = FakeEngine(tmp_path, interactive=True)
    path = str(tmp_path / "model.py")
    engine.documents.open(path, MODEL, 1)
    engine.scheduler.opened(path)
    await answered(engine, path)
    expected = Preload(path, ("torch.fx", "torchvision.models", "einops"), (str(tmp_path),))
    assert engine.agent.preloaded == [expected], "once, although more reports came"
    await engine.close()


@pytest.mark.parametrize("is_open", [True, False])
async def test_a_run_of_the_command_line_loads_nothing_ahead(tmp_path: Path, is_open: bool) -> None:
    engine = FakeEngine(tmp_path, interactive=False)
    path = str(tmp_path / "model.py")
    (tmp_path / "model.py").write_text(MODEL)
    if is_open:
        engine.documents.open(path, MODEL, 1)
    engine.scheduler.opened(path)
    await answered(engine, path)
    assert engine.agent.preloaded == []
    await engine.close()


class ClosableAgent(FakeAgent):
    """It remembers whether it was ended."""

    closed = False

    async def close(self) -> None:
        self.closed = True


class SelectingEngine(Engine):
    """Its agents answer nothing; a test selects its Python, and sees how often everything is traced again."""

    def __init__(self, folder: Path) -> None:
        self.python = ["one"]
        self.traced_again = 0
        self.made: list[ClosableAgent] = []
        folders = [str(folder / "models"), str(folder / "notes")]
        super().__init__(lambda path: Settings(), folders=folders, selected=lambda folder: self.python)
        self.scheduler.trace_all = self._count  # type: ignore[method-assign]

    def _count(self) -> None:
        self.traced_again += 1

    def _start_agent(self, interpreter: Interpreter, settings: Settings, folder: Path) -> TracingAgent:
        self.made.append(ClosableAgent())
        return self.made[-1]

    _start_capturing_agent = _start_agent

    def opened(self, path: Path) -> str:
        """Open a file, and start the agents that trace and capture it."""
        self.documents.open(str(path), "", 1)
        self.agent_for(str(path))
        self._capturing_agent_for(str(path))
        return str(path)

    async def ended(self) -> list[bool]:
        """Whether each agent was ended, in the order in which they were started."""
        for _ in range(3):  # the timer, the task that ends an agent
            await asyncio.sleep(0)
        return [agent.closed for agent in self.made]


async def test_another_python_matters_only_for_files_that_were_traced(tmp_path: Path) -> None:
    engine = SelectingEngine(tmp_path)
    for folder in ("models", "notes"):
        engine.documents.open(str(tmp_path / folder / "a.py"), "", 1)
    engine.agent_for(str(tmp_path / "models" / "a.py"))
    engine.interpreters_may_have_changed()
    assert engine.traced_again == 0
    engine.python = ["two"]
    engine.interpreters_may_have_changed()
    assert engine.traced_again == 1
    await engine.close()


async def test_the_agents_of_closed_documents_end_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = SelectingEngine(tmp_path)
    notes = engine.opened(tmp_path / "notes" / "a.py")
    model = engine.opened(tmp_path / "models" / "a.py")
    engine.closed(notes)
    assert await engine.ended() == [False] * 4, "it may be opened again"
    monkeypatch.setattr("fx_lsp.analysis.engine.GRACE_SECONDS", 0.0)
    other = engine.opened(tmp_path / "models" / "b.py")
    engine.closed(model)
    assert await engine.ended() == [True, True, False, False], "another document needs those of the models"
    engine.closed(other)
    assert await engine.ended() == [True] * 4
    await engine.close()


async def test_a_document_that_is_opened_again_soon_has_its_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fx_lsp.analysis.engine.GRACE_SECONDS", 0.0)
    engine = SelectingEngine(tmp_path)
    for _ in range(2):
        model = engine.opened(tmp_path / "models" / "a.py")
        engine.closed(model)
    engine.documents.open(model, "", 1)
    assert await engine.ended() == [False] * 2
    await engine.close()


async def test_the_agents_of_folders_that_are_removed_end_at_once(tmp_path: Path) -> None:
    engine = SelectingEngine(tmp_path)
    engine.opened(tmp_path / "models" / "a.py")
    notes = engine.opened(tmp_path / "notes" / "a.py")
    engine.closed(notes)
    engine.set_folders([str(tmp_path / "models")])
    assert await engine.ended() == [False, False, True, True]
    assert engine.traced_again == 1
    await engine.close()
