"""The fixes for what stops torch.export and torch.compile, tried by a real agent."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import torch

from fx_lsp.agent.messages import Capture, Failure
from fx_lsp.analysis.engine import Engine
from fx_lsp.fixes import Fix
from fx_lsp.fixes.editing.text_edits import applied
from fx_lsp.settings.settings import Settings

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(torch.__version__ < "2.8", reason="older versions are not checked"),
]

FILE = """\
import torch
from torch import nn


class Net(nn.Module):
    count = 0

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout()

    def step(self, x):
        self.count += 1
        return x * 2

    def forward(self, x):
{}


model = Net()
model(torch.ones(3, 4))
"""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    folder = tmp_path_factory.mktemp("workspace")
    settings = Settings(time_limit=120)
    engine = Engine(lambda path: settings, folders=[str(folder)], python=[sys.executable])
    yield engine
    await engine.close()


async def first_failure(engine: Engine, body: str, capture: Capture) -> Failure:
    """The first failure of a program with this ``forward``."""
    path = str(Path(engine.workspace.folders[0]) / f"net_{len(engine.results)}.py")
    Path(path).write_text(FILE.format("\n".join(f"        {line}" for line in body.splitlines())), encoding="utf-8")
    await engine.scheduler.trace(path)
    await engine.captures.capture(path, capture, engine.results[path].traced)
    first, *_ = (
        failure for item in engine.results[path].captured.values() if item.report for failure in item.report.failures
    )
    return first


def new_forward(engine: Engine, fix: Fix) -> str:
    """The lines of ``forward`` after a fix."""
    (text,) = applied(fix.changes, engine.documents.lines).values()
    forward = text.partition("def forward(self, x):\n")[2].partition("\n\n\n")[0]
    return "\n".join(line[8:] for line in forward.splitlines())


async def fixed(engine: Engine, body: str, capture: Capture) -> list[tuple[str, str, str]]:
    """For each fix of the first failure: the verdict, its reason, and the new lines of ``forward``."""
    first = await first_failure(engine, body, capture)
    told: list[tuple[str, str, str]] = []
    for fix in engine.proofs.trials.fixes(first):
        proof = await engine.proofs.trials.prove(first, fix)
        told.append((proof.verdict, proof.reason, new_forward(engine, fix)))
    return told


@pytest.mark.parametrize(
    ("capture", "body", "mended"),
    [
        (
            "export",
            "if x.sum() > 0:\n    return x * 2\nreturn x - 1",
            "return torch.where(x.sum() > 0, x * 2, x - 1)",
        ),
        (
            "export",
            "if x.min() < -1e6:\n    raise ValueError('too small')\nreturn x * 2",
            "torch._check_tensor_all(x.min() >= -1e6, lambda: 'too small')\nreturn x * 2",
        ),
        (
            "export",
            "n = x.sum().long().item()\nif n > 100000:\n    raise ValueError\nreturn x * 2",
            'n = x.sum().long().item()\ntorch._check(n <= 100000, lambda: "n <= 100000")\nreturn x * 2',
        ),
        (
            "export",
            "n = int(x.argmax())\nreturn x.sum(0) + n",
            "n = x.argmax().item()\nreturn x.sum(0) + n",
        ),
        (
            "compile",
            "n = x.argmax().item()\nif n > 100:\n    raise ValueError(f'{n} after {self.count} steps')\nreturn x * 2",
            'n = x.argmax().item()\ntorch._check(n <= 100, lambda: "n after self.count steps")\nreturn x * 2',
        ),
        (
            "compile",
            "print(x.shape)\nreturn x * 2",
            "if not torch.compiler.is_compiling():\n    print(x.shape)\nreturn x * 2",
        ),
        (
            "compile",
            "y = x * 2 if x.mean() > 0 else x - 1\nreturn y",
            "y = torch.where(x.mean() > 0, x * 2, x - 1)\nreturn y",
        ),
        (
            "export",
            "y = x * 1\nif (x > 0.5).any():\n    y = y.exp()\n    y = y / y.sum()\nreturn y",
            "y = x * 1\ndef if_true(y):\n    y = y.exp()\n    y = y / y.sum()\n    return y\n\n"
            "def if_false(y):\n    return y.clone()\n\n"
            "y = torch.cond((x > 0.5).any(), if_true, if_false, (y,))\nreturn y",
        ),
        (
            "compile",
            "if (x > 0.5).any():\n    y = x.exp()\n    y = y / y.sum()\nelse:\n    y = x - 1\nreturn y",
            "def if_true():\n    y = x.exp()\n    y = y / y.sum()\n    return y\n\n"
            "def if_false():\n    y = x - 1\n    return y\n\n"
            "y = torch.cond((x > 0.5).any(), if_true, if_false, ())\nreturn y",
        ),
        (
            "export",
            "step, left = 0, float('inf')\nwhile left > 1 and step < 9:\n    x = x / 2\n    step += 1\n"
            "    left = x.abs().sum().item()\nreturn x",
            "step, left = 0, float('inf')\nrunning = x.new_ones((), dtype=torch.bool)\nwhile step < 9:\n"
            "    running = running & (left > 1)\n    x = torch.where(running, x / 2, x)\n    step += 1\n"
            "    left = x.abs().sum().detach().double()\nreturn x",
        ),
        (
            "compile",
            "total = x.sum()\nfor _ in range(3):\n    total, x = total + x.sum(), x * 2\n    if total > 9:\n"
            "        break\n    x += 1\nreturn x",
            "total = x.sum()\nrunning = x.new_ones((), dtype=torch.bool)\nfor _ in range(3):\n"
            "    total, new_x = total + x.sum(), x * 2\n    x = torch.where(running, new_x, x)\n"
            "    running = running & torch.logical_not(total > 9)\n    x = torch.where(running, x + 1, x)\nreturn x",
        ),
        (
            "export",
            "if x.max().item() > 0.5:\n    x = x * (0.7 / x.max().item())\nreturn x",
            "def if_true(x):\n    x = x * (0.7 / x.max().detach().double())\n    return x\n\n"
            "def if_false(x):\n    return x.clone()\n\n"
            "x = torch.cond(x.max().double() > 0.5, if_true, if_false, (x,))\nreturn x",
        ),
    ],
)
async def test_a_fix_is_proven(engine: Engine, capture: Capture, body: str, mended: str) -> None:
    tried = await fixed(engine, body, capture)
    assert ("proven", mended) in [(verdict, text) for verdict, _, text in tried], tried


async def test_a_fix_that_changes_an_output_is_refuted(engine: Engine) -> None:
    tried = await fixed(engine, "if x.sum() > 0:\n    return x[:1] * 2\nreturn x - 1", "export")
    in_operators = [verdict for verdict, _, text in tried if "_forward_result(x)" in text]
    assert [verdict for verdict, _, _ in tried] == [*4 * ["refuted"], *in_operators], tried
    assert in_operators == ["refuted", "proven"], "the size of the result depends on data"


@pytest.mark.parametrize("failing", ["int(x.sum())", "min(x.untyped_storage().data_ptr(), 1)"])
async def test_a_fix_may_leave_a_failure_that_was_known_on_the_other_side_of_a_condition(
    engine: Engine, failing: str
) -> None:
    body = f"if x.sum() > 0:\n    y = x * {failing}\nelse:\n    y = x - 1\nreturn y"
    (verdict, _, text), *_ = await fixed(engine, body, "export")
    assert (verdict, text.partition("(")[0]) == ("proven", "y = torch.where")


async def test_the_calls_that_trace_are_not_edited_for_another_capture(engine: Engine) -> None:
    body = "torch.fx.symbolic_trace\nreturn x.new_zeros(int(x.argmax()))"
    texts = [text for _, _, text in await fixed(engine, body, "export")]
    assert {text.partition("\n")[0] for text in texts} == {"torch.fx.symbolic_trace"}
    assert texts[0].endswith("return x.new_zeros(x.argmax().item())")


async def test_a_number_that_is_not_an_integer_stays_one(engine: Engine) -> None:
    tried = await fixed(engine, "n = int(x.sum() + 0.5)\nreturn x.sum(0) * n", "export")
    verdicts = {text.partition("\n")[0]: verdict for verdict, _, text in tried}
    assert verdicts["n = (x.sum() + 0.5).long()"] == "proven", tried


@pytest.mark.parametrize(
    ("body", "title", "mended"),
    [
        (
            "y = x * 2 if int(x.sum()) > 0 else x - 1\nreturn y",
            "Compute with the tensor instead of int; then choose with torch.where",
            "y = torch.where(x.sum().long() > 0, x * 2, x - 1)\nreturn y",
        ),
        (
            "n = int(x.argmax())\nif n > 2:\n    x = x * 2\nreturn x + n",
            "Read the number with .item(); then choose with torch.where, by the tensor",
            "n = x.argmax().detach()\nx = torch.where(n > 2, x * 2, x)\nreturn x + n",
        ),
    ],
)
async def test_several_edits_are_proven_together(engine: Engine, body: str, title: str, mended: str) -> None:
    failure = await first_failure(engine, body, "export")
    trials = engine.proofs.trials
    plain = [fix for fix in trials.first_fixes(failure) if not fix.adds_operator]
    alone = [(await trials.prove(failure, fix)).verdict for fix in plain]
    assert "proven" not in alone
    first, *_ = trials.fixes(failure)
    proof = trials.known(failure, first)
    assert proof is not None
    assert (first.title, proof.verdict, new_forward(engine, first)) == (title, "proven", mended)
    assert first in [fix async for fix in trials.one_by_one(failure)]


@pytest.mark.parametrize(
    "body",
    [
        "n = int(x.abs().sum())\nif n >= 0:\n    x = x * 2\nreturn x + n",  # the condition holds for all inputs
        "n = int(x.sum())\ny = x * 2 if n > 10 ** 9 else x + n\nreturn y",  # no input reaches one side
    ],
)
async def test_several_edits_need_inputs_for_both_sides_of_each_branch(engine: Engine, body: str) -> None:
    failure = await first_failure(engine, body, "export")
    trials = engine.proofs.trials
    for fix in trials.first_fixes(failure):
        await trials.prove(failure, fix)
    assert trials.chained(failure) == ()


async def test_an_edit_without_another_that_goes_on_stays_alone(engine: Engine) -> None:
    failure = await first_failure(engine, "n = int(x.untyped_storage().data_ptr() * x.sum())\nreturn x * n", "export")
    trials = engine.proofs.trials
    for fix in trials.first_fixes(failure):
        await trials.prove(failure, fix)
    assert trials.chained(failure) == ()


async def test_all_fixes_of_a_file_include_one_of_several_edits(tmp_path: Path) -> None:
    settings = Settings(time_limit=120, captures=("export",))
    engine = Engine(lambda path: settings, folders=[str(tmp_path)], python=[sys.executable])
    try:
        await first_failure(engine, "y = x * 2 if int(x.sum()) > 0 else x - 1\nreturn y", "export")
        (path,) = map(str, tmp_path.glob("*.py"))
        together = await engine.proofs.combinations.prove_together(path)
        assert together is not None
        assert new_forward(engine, together) == "y = torch.where(x.sum().long() > 0, x * 2, x - 1)\nreturn y"
    finally:
        await engine.close()


@pytest.mark.parametrize(
    ("turn", "reason"), [("step", "whether the call changes `count` differs"), ("drop", "random numbers are drawn")]
)
async def test_a_turn_that_later_calls_would_notice_is_not_made(engine: Engine, turn: str, reason: str) -> None:
    body = f"for _ in range(4):\n    if x.sum() > 10:\n        break\n    x = self.{turn}(x)\nreturn x"
    ((verdict, why, _),) = await fixed(engine, body, "export")
    assert (verdict, reason in why) == ("refuted", True), why
