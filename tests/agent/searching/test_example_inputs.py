"""Known inputs show the agent which way a program goes."""

from __future__ import annotations

import pytest

from fx_lsp.agent.messages import Failure, Snippet, Target
from fx_lsp.agent.proving.trial_inputs import NO_INPUTS
from fx_lsp.targets import find_targets
from tests.agent.client import Client, target_of
from tests.agent.proving.edits import Edit, prove

pytestmark = pytest.mark.asyncio(loop_scope="session")

NET = """\
import torch
from torch import nn
import torch.fx

class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layer = nn.Linear(n, n)
    def forward(self, x, scale=None):
        x = self.layer(x)
        if x.dim() == 3:
            return x / len(x)
        return x * int(x.size(0))

def double(x, much=False):
    if x.sum() > 100:
        return x * float(x.sum())
    return x * int(x.size(0))

"""


async def traced(client: Client, text: str, key: str) -> tuple[Target, tuple[Failure, ...]]:
    """The target of that key in a file, as the server finds it, and what fails in it."""
    source = NET + text
    file = client.write("net.py", source)
    targets = find_targets(file, source)
    assert targets is not None
    target = next(target for target in targets if target.key == key)
    return target, (await client.trace(file, target)).only.failures


def met(failures: tuple[Failure, ...]) -> tuple[Failure, ...]:
    """The failures on the way of the example, without those on the other side of its branches."""
    return tuple(failure for failure in failures if not failure.other_side)


def kinds(failures: tuple[Failure, ...]) -> list[str]:
    return [failure.kind for failure in failures]


@pytest.mark.parametrize(
    ("call", "behind"),
    [
        ("net(torch.randn(2, 3, 4))", "len"),
        ("net(torch.randn(2, 4))", "conversion"),
        ("net(x=torch.randn(2, 4))", "conversion"),
        ("Net(4)(torch.randn(2, 4))", "conversion"),
        ("Net(3)(torch.randn(2, 3))", "len"),  # another net
        ("net(torch.randn(2, 4), no_such=1)", "len"),  # it doesn't take that
        ("net(torch.randn(-2, 4))", "len"),  # there is none
    ],
)
async def test_a_branch_goes_the_way_of_the_example(client: Client, call: str, behind: str) -> None:
    text = f"net = Net(4)\ndef main():\n    {call}\n"
    _, failures = await traced(client, text, "instance:net")
    assert kinds(met(failures)) == ["control-flow", behind]


async def test_values_are_known_for_a_module_without_weights(client: Client) -> None:
    text = "traced = torch.fx.symbolic_trace(double)\ntraced({})\n"
    for tensor, behind in (("torch.ones(200)", "conversion"), ("torch.ones(2)", "conversion")):
        _, every = await traced(client, text.format(tensor), "call:torch.fx.symbolic_trace(double)#1")
        failures = met(every)
        assert kinds(failures) == ["control-flow", behind]
        assert all(failure.after is None for failure in failures)
        assert ("float" in failures[1].operation) is ("200" in tensor)


async def test_a_proof_begins_with_the_example(client: Client) -> None:
    text = """import torch
def model(x):
    torch._assert(x.size(0) == 34, "the wrong size")
    return x / len(x)
"""
    edit = Edit(text, "len(x)", "x.size(0)", root="model")
    inputs = Snippet("(torch.ones(2 * 17, 5))", 1)
    target = target_of(str(client.root / "net.py"), "model")
    known = target_of(str(client.root / "net.py"), "model", inputs=inputs)
    assert (await prove(client, edit, target=target)).reason.startswith(NO_INPUTS)
    assert (await prove(client, edit, target=known)).verdict == "proven"
