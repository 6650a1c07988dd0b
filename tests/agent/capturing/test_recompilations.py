"""What makes `torch.compile` compile again for each size of the batch, as a real agent reports it."""

from __future__ import annotations

import pytest
import torch

from fx_lsp.agent.messages import Snippet
from tests.agent.client import Client, target_of, text_at

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(torch.__version__ < "2.8", reason="older versions are not checked"),
]

HEAD = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x):
"""


async def recompilations(client: Client, body: str, size: int = 2) -> list[tuple[str, str]]:
    """The guard and the text of each place at which a compiled ``forward`` with the lines of ``body`` recompiles."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    file = client.write("net.py", HEAD + lines)
    report = (
        await client.trace(
            file, target_of(file, "Net()", inputs=Snippet(f"(torch.ones({size}, 4),)", 1)), capture="compile"
        )
    ).only
    assert report.outcome == "traced"
    assert {notice.kind for notice in report.notices} <= {"recompilation"}
    return [(notice.error, text_at(notice.chain[-1])) for notice in report.notices]


@pytest.mark.parametrize("size", [1, 2])
async def test_a_loop_over_the_batch(client: Client, size: int) -> None:
    body = "rows = []\nfor i in range(len(x)):\n    rows.append(x[i] + 1)\nreturn torch.stack(rows)"
    ((guard, text),) = await recompilations(client, body, size)
    assert "size mismatch" in guard
    assert text == "range(len(x))"


async def test_a_branch_on_the_size(client: Client) -> None:
    body = "if x.shape[0] % 2:\n    x = x + 1\nreturn self.linear(x)"
    ((guard, text),) = await recompilations(client, body)
    assert guard == "(x.size()[0] % 2) != 0"
    assert text == "x.shape[0] % 2"


async def test_a_number_that_changes_with_each_call(client: Client) -> None:
    ((guard, text),) = await recompilations(client, "self.calls += 1\nreturn x * self.calls")
    assert guard == "self.calls == 1"
    assert text == "self.calls += 1"


@pytest.mark.parametrize("body", ["return self.linear(x)", "return x.view(x.shape[0], 2, 2)", "return x.view(2, 4)"])
async def test_what_serves_for_all_sizes_or_accepts_no_other_is_not_told(client: Client, body: str) -> None:
    assert await recompilations(client, body) == []
