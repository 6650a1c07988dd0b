"""Which failures behind the first one are reported for a class whose arguments were invented."""

from __future__ import annotations

import textwrap

import pytest

from fx_lsp.agent.messages import Report
from fx_lsp.targets import find_targets
from tests.agent.client import Client, text_at

pytestmark = pytest.mark.asyncio(loop_scope="session")

HEAD = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width, part):
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.part = part

"""


async def failing(client: Client, forward: str) -> tuple[Report, list[str]]:
    """The report on a class with this ``forward``, and the expressions at which it fails."""
    text = HEAD + textwrap.indent(textwrap.dedent(forward), "    ")
    file = client.write("net.py", text)
    report = (await client.trace(file, *find_targets(file, text) or ())).only
    assert (report.outcome, report.intent) == ("failed", "assumed")
    return report, [text_at(failure.chain[-1]) for failure in report.failures]


async def test_all_that_no_argument_can_avoid(client: Client) -> None:
    _, found = await failing(
        client,
        """
        def forward(self, x):
            while len(x.shape) < x.sum():
                x = x[None]
            x[0] = 1
            return self.layer(x) * len(x)
        """,
    )
    assert found == ["len(x.shape)", "len(x.shape) < x.sum()", "x[0]", "len(x)"]


async def test_nothing_that_depends_on_what_was_invented(client: Client) -> None:
    _, found = await failing(
        client,
        """
        def forward(self, x):
            if x.sum() > 0:
                x = -x
            items = [item + 1 for item in self.part(x)]
            if items:
                raise ValueError(items)
            return x
        """,
    )
    assert found == ["x.sum() > 0"]


@pytest.mark.parametrize("use", ["x + self.part[index]", "torch.stack([x, self.part[0]])"])
async def test_nothing_that_an_invented_list_does_and_a_tensor_may_not(client: Client, use: str) -> None:
    _, found = await failing(
        client,
        f"""
        def forward(self, x, index):
            n = len(x) + len(self.part)
            return {use} + n
        """,
    )
    assert found == ["len(x)"]


async def test_only_what_happens_without_the_optional_inputs(client: Client) -> None:
    report, found = await failing(
        client,
        """
        def forward(self, x, mask=None, scaled=False):
            if x.sum() > 0:
                x = -x
            if mask is not None and mask.sum() > 0:
                x = x * mask
            if scaled:
                x = x * len(x)
            return x + len(x.shape)
        """,
    )
    assert found == ["x.sum() > 0", "len(x.shape)"]
    assert not any(failure.other_side for failure in report.failures)
