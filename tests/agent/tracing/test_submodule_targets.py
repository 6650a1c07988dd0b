"""Classes that can't be built alone, traced as parts of others or as their subclasses."""

from __future__ import annotations

import pytest

from fx_lsp.targets import find_targets
from tests.agent.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="session")

BACKBONE = """
from torch import nn

class Base(nn.Module):
    def __init__(self, body):
        super().__init__()
        if "stage" not in {name for name, _ in body.named_children()}:
            raise ValueError("no stage")
        self.body = body

    def forward(self, x):
        return self.body(x) if x.sum() > 0 else x

class Other:
    pass

class Backbone(Base, Other):
    def __init__(self):
        body = nn.Sequential()
        body.add_module("stage", nn.Linear(3, 3))
        super().__init__(body)
"""


@pytest.mark.parametrize(
    ("bases", "more", "outcome"),
    [
        ("Base", "", "failed"),
        ("Base", "\n    def extra_repr(self):\n        return 'stage'\n", "unchecked"),
        ("Base", "        self.body = nn.Softshrink()\n", "unchecked"),
        ("Base", "        super().add_module('body', nn.Softshrink())\n", "unchecked"),
        ("Base, Other", "", "unchecked"),
    ],
    ids=["that only builds otherwise", "that does more", "that sets a part", "that adds a part", "of another base"],
)
async def test_a_class_fails_as_its_subclass(client: Client, bases: str, more: str, outcome: str) -> None:
    text = BACKBONE.replace("Base, Other", bases) + more
    file = client.write("net.py", text)
    reports = (await client.trace(file, *(find_targets(file, text) or ()))).reports
    assert reports["class:Backbone"].outcome == "failed"
    assert reports["class:Base"].outcome == outcome
