"""What is proven of an edit if only the statements that it changes can be run."""

from __future__ import annotations

import pytest

from tests.agent.client import Client
from tests.agent.proving.functions.test_edited_function import tried

NET = """\
import torch
from torch import nn

class Scale:
    def __init__(self):
        self.factor = 3

    def scaled(self, x):
        y = x * self.factor
        return y / len(x.flatten())

    @staticmethod
    def halved(x: torch.Tensor):
        return x / len(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)
        self.parts = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])
        self.rows = 2
        self.cache = None
        self.scale = Scale()

    def forward(self, x, ys):
        torch.linalg.inv(x.flatten()[:1].reshape(1, 1) * 0)
        h = self.lin(x)
        width = h.shape[1]
        rows = self.rows
        both = h
        h = h / len(h) * width + rows
        h = h + len(ys)
        for number, part in enumerate(self.parts):
            h = part(h) + number * len(h)
        h.add_(len(h))
        self.cache = h * len(h)

        def halved(x):
            return x / 2

        h = h - len(h)
        scales = [self.scale.scaled(h) for _ in range(2)]  # here, `self` is a cell
        return halved(h) + both + ys + sum(scales) + Scale.halved(h)
"""
"""A program that fails before anything that can be changed: it inverts a matrix of zeros."""

DIVIDED = "h = h / len(h) * width + rows"
ADDED = "h = h + len(ys)"
LOOPED = "h = part(h) + number * len(h)"
IN_PLACE = "h.add_(len(h))"
BEFORE_FUNCTION = "h = h - len(h)"
KEPT = "self.cache = h * len(h)"


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("statement", [DIVIDED, LOOPED, IN_PLACE, KEPT, BEFORE_FUNCTION])
async def test_the_changed_statements_are_tried_alone(client: Client, statement: str) -> None:
    proof = await tried(client, statement, statement.replace("len(h)", "h.size(0)"), NET)
    proven = "the changed statements of `Net.forward`, run alone, behave the same on"
    assert (proof.verdict, proven in proof.reason) == ("proven", True), proof.reason


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("old", "new", "proven"),
    [
        ("return y / len(x.flatten())", "return y / x.flatten().size(0)", "the changed statements of `Scale.scaled`"),
        ("return x / len(x)", "return x / x.size(0)", "`Scale.halved`, run alone,"),
    ],
)
async def test_methods_of_other_objects_than_modules(client: Client, old: str, new: str, proven: str) -> None:
    proof = await tried(client, old, new, NET)
    assert (proof.verdict, proven in proof.reason) == ("proven", True), proof.reason


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (DIVIDED, "h = h / h.size(1) * width + rows", "differs in the edited code"),
        (DIVIDED, f"{DIVIDED.replace('len(h)', 'h.size(0)')}\n        width = 8", "differs in the edited code"),
        (DIVIDED, DIVIDED.replace("len(h)", "h.size(0)").replace("width", "8"), "differs in the edited code"),
        (ADDED, "h = h + ys.size(0)", "no attribute 'size'"),  # it may be a list
        (LOOPED, "h = part(h) + 0 * h.size(0)", "differs in the edited code"),  # true of the first turn
        (IN_PLACE, "h = h + h.size(0)", "differs in the edited code"),
        (KEPT, "self.cache = h * 2", "differs in the edited code"),
        (KEPT, "self.cache = h.mul_(h.size(0))", "differs in the edited code"),
        (KEPT, "self.cache = h * h.size(0); self.rows = self.rows + 1", "differs in the edited code"),
    ],
)
async def test_what_only_some_values_would_show_is_not_proven(client: Client, old: str, new: str, reason: str) -> None:
    proof = await tried(client, old, new, NET)
    assert (proof.verdict != "proven", reason in proof.reason) == (True, True), proof.reason
