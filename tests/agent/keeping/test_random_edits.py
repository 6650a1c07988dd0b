"""Traces that begin in kept processes say what traces from the start say."""

import contextlib
import dataclasses
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from fx_lsp.agent.messages import Done, Limits, Report, Target, Trace
from fx_lsp.supervisor.supervised_agent import SupervisedAgent
from fx_lsp.targets.target_finder import TargetFinder
from tests.agent.client import make_client
from tests.analysis.random_edits import RandomEdits

pytestmark = pytest.mark.asyncio(loop_scope="module")

EDITS = int(os.environ.get("FX_LSP_RANDOM_EDITS", "25"))
"""How many random edits are compared; another number makes other edits."""

BETWEEN = 4
"""After how many edits a trace from the start follows, whose processes are kept."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def agents(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[SupervisedAgent, SupervisedAgent]]:
    """One that keeps processes, and one that is never asked to."""
    both = make_client(tmp_path_factory.mktemp("cwd")).agent, make_client(tmp_path_factory.mktemp("other")).agent
    yield both
    for agent in both:
        await agent.close()


class Workspace:
    """Two files that are edited."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.edits = RandomEdits(seed=EDITS)
        for name, text in self.edits.texts.items():
            (folder / name).write_text(text)

    def request(self, first: str) -> Trace | None:
        """A request for all targets, those called ``first`` before the others; None if the text is not Python."""
        path = str(self.folder / "model.py")
        overlays = {str(self.folder / name): text for name, text in self.edits.texts.items()}
        finder = TargetFinder(lambda: [str(self.folder)], overlays.get)
        found = finder.find(path, overlays[path])
        if found is None:
            return None
        targets: tuple[Target, ...] = tuple(finder.completed(path, found))
        targets = tuple(sorted(targets, key=lambda target: target.title != first))
        return Trace(path, targets, overlays, (str(self.folder),), Limits(seconds=60))


async def answers(agent: SupervisedAgent, request: Trace) -> tuple[dict[str, Report], Done]:
    reports: dict[str, Report] = {}
    async with contextlib.aclosing(agent.trace(request)) as stream:
        async for answer in stream:
            if isinstance(answer, Done):
                return reports, dataclasses.replace(answer, id=0)
            reports[answer.target] = dataclasses.replace(answer, id=0, seconds=0, processor_seconds=0)
    raise AssertionError("there was no last word")


async def test_random_edits(agents: tuple[SupervisedAgent, SupervisedAgent], tmp_path: Path) -> None:
    keeping, fresh = agents
    workspace = Workspace(tmp_path / "work é")
    told, quick = "", 0
    for number in range(EDITS):
        request = workspace.request(("Alone", "Part", "Whole", "Nested", "Derived")[number % 5])
        if request is not None:
            ours, done = await answers(keeping, dataclasses.replace(request, purpose="edit"))
            theirs, their_done = await answers(fresh, request)
            texts = "\n".join(workspace.edits.texts.values())
            if number % BETWEEN == 1:
                await answers(keeping, dataclasses.replace(request, purpose="prepare"))
            assert ours == theirs, f"edit {number}, {told}, quick: {done.quick}\n{texts}"
            assert set(done.dependencies) == set(their_done.dependencies)
            quick += done.quick
            if number % BETWEEN == 0:
                anew, done = await answers(keeping, dataclasses.replace(request, purpose="confirm"))
                assert (anew, done.quick) == (theirs, False)
        told = workspace.edits.edit()
    print(f"{quick} of {EDITS} answers were quick")
    assert quick > EDITS / 10
