"""A function of a large model that can't be run is run alone in the model's small twins."""

from __future__ import annotations

import pytest

from tests.agent.client import Client
from tests.agent.proving.functions.test_edited_function import tried

LARGE = """\
import torch
from torch import nn


class Large(nn.Module):
    def __init__(self, width=512, depth=6):
        super().__init__()
        self.width, self.depth = width, depth
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.place = nn.Parameter(torch.randn(1, 1, width))

    def placed(self, x: torch.Tensor):
        if len(x) > 1:
            return x
        return x + self.place

    def pooled(self, x: torch.Tensor):
        return x.relu() * self.depth / len(x)

    def forward(self, x):
        x = self.placed(x)
        for block in self.blocks:
            x = block(x)
        x = self.pooled(x)
        raise ValueError("a package is missing")


class Net(Large):
    pass
"""

pytestmark = pytest.mark.asyncio(loop_scope="session")

HELPER = """\
torch.fx.wrap("with_place")


def with_place(x, place):
    return x if x.shape[0] > 1 else x + place


"""

PLACED = """\
if len(x) > 1:
            return x
        return x + self.place"""

POOLED = "return x.relu() * self.depth / len(x)"
RIGHT = "return x.relu() * self.depth / x.size(0)"


async def test_a_right_edit_is_proven_at_small_sizes(client: Client) -> None:
    proof = await tried(client, POOLED, RIGHT, LARGE)
    assert proof.verdict == "proven", proof.reason
    assert "`Large.pooled`, run alone, behaves the same" in proof.reason
    assert "width=" in proof.reason


@pytest.mark.parametrize(
    "new",
    [
        "return x.relu() * 2 / x.size(0)",
        "return x.relu() * 3 / x.size(0)",
        "return x.relu() * (self.width // 8) / x.size(0)",
        "return x.abs() * self.depth / x.size(0)",
    ],
)
async def test_a_wrong_edit_that_one_twin_may_hide_is_not(client: Client, new: str) -> None:
    proof = await tried(client, POOLED, new, LARGE)
    assert proof.verdict != "proven", proof.reason


async def test_an_input_gets_the_width_of_what_the_function_adds(client: Client) -> None:
    """The branch that adds nothing accepts any width."""
    text = LARGE.replace("class Large", f"{HELPER}class Large")
    proof = await tried(client, PLACED, "return with_place(x, self.place)", text)
    assert proof.verdict == "proven", proof.reason


@pytest.mark.parametrize("most", [3, 4, 5])
async def test_a_wrong_edit_that_twins_may_hide_is_refuted(client: Client, most: int) -> None:
    capped = POOLED.replace("self.depth", f"min(self.depth, {most})")
    proof = await tried(client, capped, RIGHT, LARGE.replace(POOLED, capped))
    assert proof.verdict == "refuted", proof.reason
