"""Each part of a proof is needed: with an agent that lacks one, an edit that does harm comes out as proven."""

from __future__ import annotations

import pytest

import fx_lsp.agent_process

from .conftest import Connect
from .edits import REFUTED, UNTRIED, prove

pytestmark = pytest.mark.asyncio(loop_scope="session")

MAIN = "main(*sys.argv[2:])\n"
"""How the agent's first program ends."""

BROKEN = """
import fx_lsp.agent.warmup as warmup
load_torch = warmup.load_torch
def load_and_break(folder):
    loaded = load_torch(folder)
    from fx_lsp.agent import comparison, proof, trial, values
    difference = comparison._difference
    {mutation}
    return loaded
warmup.load_torch = load_and_break
"""

NOTHING_DIFFERS = "trial.difference = trial.difference_in_graph = lambda old, new: None"
IGNORE = "comparison._difference = lambda what, *pair: None if what == {part!r} else difference(what, *pair)"
NO_ATTRIBUTES = "values._attributes = lambda value: {}"
NO_GRADIENTS = "comparison._gradients = lambda old, new: None"
NO_GRAPH = "proof.check_graph = lambda program, runs: None"
NO_PLACES = "proof.check_places = lambda *arguments: None"
NO_NUDGE = "trial.nudge = lambda root, names: None"
ONE_SIZE = "trial.around = lambda first, root: iter([first, first])"
NO_COVERAGE = "trial.missing = proof.missing = lambda parts, seen: ()"

MUTATIONS = [
    (NOTHING_DIFFERS, "the other side is NaN"),
    (NOTHING_DIFFERS, "another number"),
    (NOTHING_DIFFERS, "a write that a view saw"),
    (IGNORE.format(part="what it returns"), "a number more"),
    (IGNORE.format(part="what it leaves in its inputs"), "a write that the caller saw"),
    (IGNORE.format(part="what it leaves in the module's buffers"), "a write to a buffer"),
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


@pytest.mark.parametrize(("mutation", "case"), MUTATIONS, ids=[case for _, case in MUTATIONS])
async def test_without_it_harm_goes_unseen(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, mutation: str, case: str
) -> None:
    boot = fx_lsp.agent_process.BOOT
    assert boot.endswith(MAIN)
    broken = boot.removesuffix(MAIN) + BROKEN.format(mutation=mutation) + MAIN
    monkeypatch.setattr(fx_lsp.agent_process, "BOOT", broken)
    edit, _ = {**REFUTED, **UNTRIED}[case]
    proof = await prove(connect(), edit)
    assert proof.verdict == "proven", proof.reason
