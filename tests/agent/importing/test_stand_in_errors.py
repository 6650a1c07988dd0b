"""An import that may fail only because of a stand-in: the notice names the missing package, not the error."""

from __future__ import annotations

import pytest

from fx_lsp.agent.messages import Report
from tests.agent.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="session")

NET = """
import nowhere
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        assert width % 2 == 0, "even"
        self.layer = nn.Linear(width, 1)

    def forward(self, x):
        return self.layer(x)

def width_of(table):
    return int(nowhere.load(table))

def positive(width):
    if width < 2:
        raise ValueError(width)
    return width
"""


async def said(client: Client, text: str) -> list[tuple[str, str]]:
    """The notices of an import: each one's kind and error."""
    report: Report = (await client.trace(client.write("net.py", f"{NET}\n{text}"), "Net()")).only
    assert report.outcome == "traced"
    return [(notice.kind, notice.error) for notice in report.notices]


MISSING = ("missing-package", "ModuleNotFoundError: No module named 'nowhere'")

DUE_TO_STAND_INS = {
    "torch refuses it": "positions = torch.arange(0, nowhere.width, 2)",
    "a constructor refuses it": "net = Net(nowhere.read('data').shape[1] + 1)",
    "a number that was made of it": "width = int(nowhere.width)\nassert width > 100",
    "a number that a function made of it": "width = width_of('data')\nnet = Net(width)",
    "a number that was computed from one": "width = int(nowhere.width)\nhalf = width // 2\nnet = Net(positive(half))",
    "a function that is called with it": "width = positive(int(nowhere.width))",
    "what depends on it": "if nowhere.version:\n    raise RuntimeError('too new')",
    "a class that reads it": "class Other(nn.Module):\n    width = int(nowhere.width)\n    assert width == 64",
    "a name that a loop binds": "for width in [int(nowhere.width)]:\n    pass\nassert width == 64",
    "a class with a missing base": "class Other(nowhere.Base):\n    width = 3\nassert Other().width == Other.height",
}


@pytest.mark.parametrize("text", DUE_TO_STAND_INS.values(), ids=DUE_TO_STAND_INS)
async def test_an_error_that_a_stand_in_may_cause_is_not_told_of(client: Client, text: str) -> None:
    assert await said(client, text) == [MISSING]


OWN = {
    "a constructor": ("net = Net(3)", "AssertionError: even"),
    "a call": ("width = positive(1)", "ValueError: 1"),
    "an undefined name": ("net = Nett(nowhere.width)", "NameError: name 'Nett' is not defined"),
    "a module": ("from torch import no_such_name_", "ImportError: cannot import name 'no_such_name_' from 'torch'"),
    "a class body": ("class Other(nn.Module):\n    width = [][1]", "IndexError: list index out of range"),
    "another statement": ("width = int(nowhere.width)\nnet = Net(3)", "AssertionError: even"),
}


@pytest.mark.parametrize(("text", "error"), OWN.values(), ids=OWN)
async def test_an_error_of_its_own_is_told_of(client: Client, text: str, error: str) -> None:
    (first, second) = await said(client, text)
    assert first == MISSING
    assert second[0] == "import"
    assert second[1].startswith(error)


async def test_messages_do_not_name_the_classes_of_stand_ins(client: Client) -> None:
    client.write("given.py", "import nowhere\nwidth, part = nowhere.width, nowhere.Part(3)\n")
    for use in (
        "torch.arange(0, width, 2)",
        "nn.Linear(3, 4)(width)",
        "[*part]",
        "part[0]",
        "part + 1",
        "nn.ReLU() + part",
    ):
        forward = f"class Other(Net):\n    def forward(self, x):\n        return {use}\n"
        text = f"from given import part, width\n{NET}\n{forward}"
        report = (await client.trace(client.write("net.py", text), "Other()")).only
        told = [report.reason, *(failure.error for failure in (*report.failures, *report.notices))]
        assert not [one for one in told if "StandIn" in one or "MissingModule" in one]
