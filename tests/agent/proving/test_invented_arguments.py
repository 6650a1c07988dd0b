"""What is proven of a class for which fx-lsp invents arguments."""

from __future__ import annotations

import dataclasses

import pytest

from tests.agent.client import Client, target_of
from tests.agent.proving.edits import Edit, prove

NET = """\
import torch
import torch.fx

torch.fx.wrap("rows")

def rows(x):
    return list(range(len(x)))

class Net(torch.nn.Module):
    def __init__(self, dropouts):
        super().__init__()
        self.dropouts = dropouts

    def forward(self, x: torch.Tensor):
        kept = [row for row in range(x.size(0))]
        return torch.nn.functional.dropout(x[kept], self.dropouts[0]) + self.dropouts[1]
"""
"""Only behind what fails is it seen that the argument has to be a list."""

ROWS = "[row for row in range(x.size(0))]"


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("new", "verdict"), [("rows(x)", "proven"), ("rows(x[:1])", "untried")], ids=["all rows", "the first row"]
)
async def test_the_edited_program_may_show_what_arguments_it_needs(client: Client, new: str, verdict: str) -> None:
    target = target_of(client.write("net.py", NET), "Net")
    target = dataclasses.replace(target, symbol="Net", recipe=dataclasses.replace(target.recipe, made_up=True))
    proof = await prove(client, Edit(NET, ROWS, new), target=target)
    assert proof.verdict == verdict, proof.reason
    assert ("built by `Net(dropouts=[" in proof.reason) is (verdict == "proven")
