"""The agent keeps the findings of proofs by target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from fx_lsp.agent.messages import Prove, Snippet
from fx_lsp.agent.proving.proof_memory import Remembered
from fx_lsp.agent.serving.remembered_proofs import MOST_BYTES, RememberedProofs
from tests.agent.client import target_of

TEXT = "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x): return x\nNet()\n"
FINDINGS = Remembered(("net.py",), "digest", b"pickle")


def request_of(folder: Path, text: str = TEXT) -> Prove:
    file = folder / "net.py"
    file.write_text(text, encoding="utf-8")
    target = target_of(str(file), "Net()")
    return Prove(str(file), target, target, (), {}, {})


def test_findings_are_kept_when_the_target_moves_to_other_lines(tmp_path: Path) -> None:
    proofs = RememberedProofs()
    proofs.keep(request_of(tmp_path), FINDINGS)
    assert proofs.of(request_of(tmp_path, "\n\n" + TEXT)) == FINDINGS


def test_a_target_that_is_built_in_another_way_has_findings_of_its_own(tmp_path: Path) -> None:
    proofs, request = RememberedProofs(), request_of(tmp_path)
    proofs.keep(request, FINDINGS)
    for change in ({"root": Snippet("Net(2)", 4)}, {"setup": (Snippet("x = 1", 1),)}, {"inputs": Snippet("(2)", 4)}):
        recipe = replace(request.target.recipe, **cast(Any, change))
        assert proofs.of(replace(request, target=replace(request.target, recipe=recipe))) is None


def test_messages_that_are_not_as_expected_are_not_kept(tmp_path: Path) -> None:
    proofs, request = RememberedProofs(), request_of(tmp_path)
    for unexpected in ({"pickled": 3}, {"texts": None}, {"after": ["pickle"]}):
        proofs.keep(request, replace(FINDINGS, **cast(Any, unexpected)))
        assert proofs.of(request) is None


def test_the_oldest_findings_go_first(tmp_path: Path) -> None:
    proofs, request = RememberedProofs(), request_of(tmp_path)
    other = replace(request, target=replace(request.target, key="class:Other"))
    proofs.keep(request, FINDINGS)
    half = MOST_BYTES // 2
    proofs.keep(other, replace(FINDINGS, pickled=b"p" * half, after="p" * half))
    assert proofs.of(request) is None
    assert proofs.of(other) is not None
