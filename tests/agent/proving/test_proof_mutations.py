"""Each part of a proof is needed: with an agent that lacks one, an edit that does harm comes out as proven."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

import fx_lsp.supervisor.agent_process
from tests.agent.client import Client, make_client
from tests.agent.conftest import lent
from tests.agent.proving.edits import REFUTED, UNTRIED, prove

pytestmark = pytest.mark.asyncio(loop_scope="session")

MAIN = "main(*sys.argv[2:])\n"
"""How the agent's first program ends."""

BROKEN = """
import fx_lsp.agent.serving.warmup as warmup
load_torch = warmup.load_torch
def load_and_break(folder):
    loaded = load_torch(folder)
    from fx_lsp.agent.proving import before_edit, new_text, proof_context, result_comparison
    from fx_lsp.agent.proving import trial_inputs, trial_programs, trial_runs
    from fx_lsp.agent.running import plain_values
    difference = result_comparison._difference
    {mutation}
    return loaded
warmup.load_torch = load_and_break
"""

NOTHING_DIFFERS = "trial_runs.difference = trial_runs.difference_in_graph = lambda old, new: None"
IGNORE = "result_comparison._difference = lambda what, *pair: None if what == {part!r} else difference(what, *pair)"
NO_ATTRIBUTES = "plain_values._attributes = lambda value: {}"
NO_GRADIENTS = "result_comparison._gradients = lambda old, new: None"
NO_GRAPH = "new_text.check_graph = lambda program, runs: None"
NO_PLACES = "proof_context.check_places = lambda *arguments: None"
NO_NUDGE = "trial_programs.perturb_weights = lambda root, names: None"
ONE_SIZE = "trial_inputs.around = lambda first, root, fixed: iter([first, first])"
NO_COVERAGE = "trial_runs.parts_not_run = before_edit.parts_not_run = lambda parts, seen: ()"

MUTATIONS = [
    (NOTHING_DIFFERS, "the other side is NaN"),
    (NOTHING_DIFFERS, "another number"),
    (NOTHING_DIFFERS, "a write that a view saw"),
    (IGNORE.format(part="the output"), "a number more"),
    (IGNORE.format(part="the content of the inputs after the call"), "a write that the caller saw"),
    (IGNORE.format(part="the content of the module's buffers after the call"), "a write to a buffer"),
    (NO_ATTRIBUTES, "a number in an object"),
    (NO_ATTRIBUTES, "a number in a slot"),
    (NO_GRADIENTS, "the gradient of the other side is NaN"),
    (NO_GRAPH, "a graph that keeps one branch"),
    (NO_PLACES, "nothing is mended"),
    (NO_PLACES, "another failure comes"),
    (NO_NUDGE, "behind scales that start at zero"),
    (ONE_SIZE, "a narrow past the end"),
    (NO_COVERAGE, "a branch that no input takes"),
    (NO_COVERAGE, "a side that no input takes"),
]
"""What is broken, and an edit that is then called proven."""


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def broken_agents() -> AsyncIterator[dict[str, Client]]:
    """By what is broken: the agent that lacks it, until a test needs another one."""
    clients: dict[str, Client] = {}
    yield clients
    for client in clients.values():
        await client.agent.close()


@pytest.mark.parametrize(("mutation", "case"), MUTATIONS, ids=[case for _, case in MUTATIONS])
async def test_a_broken_check_lets_a_harmful_fix_through(
    broken_agents: dict[str, Client],
    tmp_path_factory: pytest.TempPathFactory,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    mutation: str,
    case: str,
) -> None:
    boot = fx_lsp.supervisor.agent_process.BOOT
    assert boot.endswith(MAIN)
    broken = boot.removesuffix(MAIN) + BROKEN.format(mutation=mutation) + MAIN
    monkeypatch.setattr(fx_lsp.supervisor.agent_process, "BOOT", broken)
    if mutation not in broken_agents:
        while broken_agents:
            await broken_agents.popitem()[1].agent.close()
        broken_agents[mutation] = make_client(tmp_path_factory.mktemp("cwd"))
    edit, _ = {**REFUTED, **UNTRIED}[case]
    proof = await prove(lent(broken_agents[mutation], root), edit)
    assert proof.verdict == "proven", proof.reason
