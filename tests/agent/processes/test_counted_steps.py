"""More time for work that goes on to further steps."""

from __future__ import annotations

import pytest

from fx_lsp.agent.messages import Capture, Limits, Recipe, Snippet, Span, Target
from fx_lsp.agent.processes.counted_steps import MOST_GRANTS, CountedSteps, begin_step
from tests.agent.client import Client

NET = """\
import time
from torch import nn


class Net(nn.Module):
    def __init__(self, a, b, c, d):
        super().__init__()
        end = time.process_time() + 0.7
        while time.process_time() < end:
            pass
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in [*a, *b, *c, *d])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
"""The search for arguments builds this five times, since each argument has to be a list."""


def test_time_is_granted_whenever_a_step_has_been_finished() -> None:
    granted: list[None] = []
    steps = CountedSteps(lambda: granted.append(None))
    assert not steps.grant(None)
    begin_step()
    assert not steps.grant(None)  # it may be stuck
    begin_step()
    assert steps.grant(None)
    assert not steps.grant(None)
    begin_step()
    assert steps.grant(None)
    assert len(granted) == 2


def test_time_is_not_granted_without_end() -> None:
    steps = CountedSteps(lambda: None)
    for _ in range(MOST_GRANTS):
        begin_step()
        begin_step()
        assert steps.grant(None)
    begin_step()
    begin_step()
    assert not steps.grant(None)


@pytest.mark.parametrize("capture", ["fx", "export"])
@pytest.mark.asyncio(loop_scope="session")
async def test_each_build_with_invented_arguments_may_take_the_time_limit(client: Client, capture: Capture) -> None:
    file = client.write("net.py", NET)
    recipe = Recipe(Snippet("Net", 5), made_up=True)
    net = Target("Net", "Net", Span(file, 5, 6, 5, 9), recipe, intent="assumed", symbol="Net")
    report = (await client.trace(file, net, limits=Limits(seconds=1), capture=capture)).only
    assert (report.outcome, report.reason) == ("traced", "")
