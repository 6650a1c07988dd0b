"""Costs and proofs wait until the agent has imported the packages that the trace before them needed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import textwrap
from pathlib import Path

import pytest

from fx_lsp.agent.messages import Costs, Prove, Recipe, Snippet, Span, Target, Trace
from tests.agent.client import PATIENT, Client
from tests.agent.conftest import Connect

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="where processes can't be forked, nothing is held back"),
]

MODEL = """\
import fx_lsp_test_layers
from torch import nn

class Net(fx_lsp_test_layers.Layers):
    pass
"""

LAYERS = """\
import os
from torch import nn

print("imported by", os.getpid(), flush=True)

class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(2, 3)

    def forward(self, x):
        return self.one(x)
"""


@pytest.fixture
def traced(connect: Connect, tmp_path: Path) -> tuple[Client, Trace]:
    """An agent, and a request for a model whose package is not in the workspace."""
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "fx_lsp_test_layers.py").write_text(LAYERS)
    client = connect(env={**os.environ, "PYTHONPATH": str(packages)})
    file = client.write("model.py", textwrap.dedent(MODEL))
    target = Target("Net", "Net", Span(file, 1, 0, 1, 0), Recipe(Snippet("Net()", 1)))
    return client, Trace(file, (target,), roots=(str(client.root),), limits=PATIENT)


async def counted(client: Client, request: Trace) -> list[Costs]:
    async with contextlib.aclosing(client.agent.count(request)) as answers:
        return [costs async for costs in answers]


async def test_the_process_that_counts_starts_with_the_packages(traced: tuple[Client, Trace]) -> None:
    client, request = traced
    await client.trace(request.file, *request.targets)
    (costs,) = await counted(client, request)
    assert costs.modules[0].parameters.count == 9
    await client.agent.close()  # then everything that was printed is in the log
    importers = {line for line in client.log if line.startswith("imported by")}
    assert len(importers) == len(["the trace", "the trial", "the agent"]), client.log


async def test_a_count_can_be_cancelled_before_it_has_begun(traced: tuple[Client, Trace]) -> None:
    client, request = traced
    await client.trace(request.file, *request.targets)
    counting = asyncio.create_task(counted(client, request))
    await asyncio.sleep(0)
    counting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await counting
    (costs,) = await counted(client, request)
    assert costs.modules[0].parameters.count == 9


async def test_the_processes_of_a_proof_start_with_the_packages(traced: tuple[Client, Trace]) -> None:
    client, request = traced
    await client.trace(request.file, *request.targets)
    (target,), edited = request.targets, {request.file: f"{MODEL}\n# edited\n"}
    prove = Prove(request.file, target, target, (), {}, edited, request.roots, PATIENT)
    proof = await client.agent.prove(prove)
    assert proof.verdict == "proven", proof.reason
    await client.agent.close()  # then everything that was printed is in the log
    importers = {line for line in client.log if line.startswith("imported by")}
    assert len(importers) == len(["the trace", "the trial", "the agent"]), client.log
