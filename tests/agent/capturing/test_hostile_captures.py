"""Modules that are out to do harm, under torch.export and torch.compile: each is contained, and the agent goes on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from fx_lsp.agent.messages import Capture, Limits, Outcome, Snippet
from tests.agent.client import Client, target_of

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(torch.__version__ < "2.8", reason="older versions are not checked"),
]

HOSTILE = Path(__file__).parents[2] / "workspaces" / "hostile"

SAID: dict[str, tuple[Outcome, Outcome]] = {
    "closes_all_in_forward": ("crashed", "failed"),
    "ends_itself": ("crashed", "failed"),
    "exits_at_once_in_forward": ("crashed", "failed"),
    "loop_in_c_in_forward": ("timed-out", "timed-out"),
    "loop_in_forward": ("timed-out", "timed-out"),
    "memory_in_forward": ("out-of-memory", "failed"),
    "overwrites": ("traced", "traced"),
    "writes_to_stdout": ("traced", "traced"),
}
"""Hostile module -> the outcome of an export, and of a compilation, which runs no call that it can't put into a graph.
"""


@pytest.mark.parametrize("capture", ["export", "compile"])
@pytest.mark.parametrize("name", SAID)
async def test_a_hostile_module(client: Client, name: str, capture: Capture) -> None:
    canary = client.write("canary/kept.txt", "sings")
    (client.root / "hostile").mkdir()
    file = shutil.copy(HOSTILE / f"{name}.py", client.root / "hostile" / f"{name}.py")
    target = target_of(str(file), "Net()", inputs=Snippet("(torch.ones(3, 4),)", 1))
    expected = SAID[name][capture == "compile"]
    limits = Limits(seconds=2 if expected == "timed-out" else 60, memory_mb=2048)  # only a loop ends by its time
    report = (await client.trace(str(file), target, capture=capture, limits=limits)).only
    assert report.outcome == expected
    assert Path(canary).read_text() == "sings"
    good = client.write(
        "good.py", "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
    )
    again = target_of(good, "Net()", inputs=Snippet("(torch.ones(3, 4),)", 1))
    assert (await client.trace(good, again, capture=capture)).only.outcome == "traced"
