"""The agent keeps the arguments that traces invent by target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from fx_lsp.agent.inventing.plan_memory import Invented
from fx_lsp.agent.messages import Prove, Trace
from fx_lsp.agent.serving.traced_plans import MOST_CHARACTERS, TracedPlans
from tests.agent.client import target_of

TEXT = "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x): return x\nNet()\n"


def requests_in(folder: Path) -> tuple[Trace, Prove]:
    file = folder / "net.py"
    file.write_text(TEXT, encoding="utf-8")
    target = target_of(str(file), "Net()")
    return Trace(str(file), (target,), {}), Prove(str(file), target, target, (), {}, {})


def test_the_plans_of_the_last_trace_are_kept(tmp_path: Path) -> None:
    plans, (trace, prove) = TracedPlans(), requests_in(tmp_path)
    assert plans.of(prove) == {}
    for plan in ("old", "new"):
        plans.keep(trace, Invented(prove.target.key, {"net.Net": plan}))
    assert plans.of(prove) == {"net.Net": "new"}


def test_messages_that_are_not_as_expected_are_not_kept(tmp_path: Path) -> None:
    plans, (trace, prove) = TracedPlans(), requests_in(tmp_path)
    for item in (Invented("class:Other", {"a": "b"}), Invented(prove.target.key, {"a": cast(Any, 1)})):
        plans.keep(trace, item)
        assert plans.of(prove) == {}
        assert not plans._kept


def test_the_oldest_plans_go_first(tmp_path: Path) -> None:
    plans, (trace, prove) = TracedPlans(), requests_in(tmp_path)
    plans.keep(trace, Invented(prove.target.key, {"net.Net": "plan"}))
    other = Trace(str(tmp_path / "other.py"), trace.targets, {})
    plans.keep(other, Invented(prove.target.key, {"net.Net": "p" * MOST_CHARACTERS}))
    assert plans.of(prove) == {}


def test_plans_are_for_the_text_that_was_traced(tmp_path: Path) -> None:
    plans, (trace, prove) = TracedPlans(), requests_in(tmp_path)
    edited = replace(trace, overlays={trace.file: TEXT + "\n"})
    plans.keep(edited, Invented(prove.target.key, {"net.Net": "plan"}))
    assert plans.of(prove) == {}
    assert plans.of(replace(prove, overlays=edited.overlays))
    plans.forget(trace)
    assert plans.of(replace(prove, overlays=edited.overlays)) == {}
