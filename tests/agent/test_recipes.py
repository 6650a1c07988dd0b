"""Which of a class's recipes is used, what is told of it, and which failures are believed."""

from __future__ import annotations

import pytest

from fx_lsp.agent.messages import Report, Trace
from fx_lsp.targets import find_targets

from .client import PATIENT, Client

pytestmark = pytest.mark.asyncio(loop_scope="session")

HEAD = """\
from torch import nn

class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        if width == 13:
            raise ValueError("unlucky")
        self.width = width
        self.layer = nn.Linear(width, width)

    def forward(self, x, mask=None):
        {forward}
"""


async def reports(client: Client, rest: str = "", forward: str = "return self.layer(x)") -> dict[str, Report]:
    """The last report on each class, by name."""
    text = HEAD.format(forward=forward) + rest
    file = client.write("net.py", text)
    targets = find_targets(file, text)
    assert targets
    told = {}
    async for answer in client.agent.trace(
        Trace(file=file, targets=targets, roots=(str(client.root),), limits=PATIENT)
    ):
        if isinstance(answer, Report):
            told[answer.target.partition(":")[2]] = answer
    return told


@pytest.mark.parametrize(
    ("rest", "recipe", "line", "intent"),
    [
        ("", "Layer(width=64)", None, "assumed"),
        ("layers = [Layer(5)]\n", "Layer(5)", 13, "inferred"),
        ("def make(width=6):\n    return Layer(width)\n", "Layer(width)", 14, "inferred"),
        (
            "def make(n=6):\n    for width in range(1, n):\n        pass\n    return Layer(width)\n",
            "make()",
            13,
            "inferred",
        ),
        ("layers = lambda: [Layer(13), Layer(4)]\n", "Layer(4)", 13, "inferred"),
        ("layers = lambda: [Layer(13)]\n", "Layer(width=64)", None, "assumed"),
    ],
)
async def test_the_first_that_can_be_built_is_used_and_told(
    client: Client, rest: str, recipe: str, line: int | None, intent: str
) -> None:
    report = (await reports(client, rest))["Layer"]
    assert (report.outcome, report.recipe, report.intent) == ("traced", recipe, intent)
    assert (report.recipe_span.line if report.recipe_span else None) == line


async def test_a_part_of_what_is_built_goes_before_made_up_arguments(client: Client) -> None:
    host = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList(Layer(width) for width in (4, 8))

    def forward(self, x):
        return self.stages[1](self.stages[0](x))
"""
    report = (await reports(client, host))["Layer"]
    assert (report.outcome, report.recipe, report.intent) == ("traced", "Net().stages[0]", "inferred")


async def test_a_part_fails_where_its_host_does(client: Client) -> None:
    host = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer(4)

    def forward(self, x):
        return self.layer(x)
"""
    told = await reports(client, host, forward="return self.layer(x) if x.sum() > 0 else x")
    assert [told[name].outcome for name in ("Layer", "Net")] == ["failed", "failed"]
    assert told["Layer"].failures[0].chain[-1] == told["Net"].failures[0].chain[-1]


async def test_what_a_symbol_refuses_is_believed_whatever_was_made_up(client: Client) -> None:
    report = (await reports(client, forward="return self.layer(x) if x.sum() > 0 else x"))["Layer"]
    assert (report.outcome, report.intent, report.failures[0].kind) == ("failed", "assumed", "control-flow")


async def test_a_name_that_is_not_defined_is_believed_too(client: Client) -> None:
    report = (await reports(client, forward="return self.layer(x) * scale"))["Layer"]
    assert (report.outcome, report.failures[0].kind) == ("failed", "exception")


@pytest.mark.parametrize(
    "forward",
    ["return self.layer(x) + {}[self.width]", "raise RuntimeError(f'{self.width} is too large')"],
)
async def test_what_the_program_raises_may_be_for_what_was_made_up(client: Client, forward: str) -> None:
    report = (await reports(client, forward=forward))["Layer"]
    assert (report.outcome, report.failures) == ("unchecked", ())
    assert "made up" in report.reason
    known = (await reports(client, "layers = [Layer(5)]\n", forward))["Layer"]
    assert (known.outcome, known.failures[0].kind) == ("failed", "exception")


async def test_inputs_that_may_be_left_out_are_left_out_where_nobody_shows_how_it_is_called(client: Client) -> None:
    forward = "return self.layer(x) if mask is None else self.layer(x) * len(mask)"
    report = (await reports(client, forward=forward))["Layer"]
    assert (report.outcome, report.reason) == ("traced", "without its optional inputs")
    known = (await reports(client, "layers = [Layer(5)]\n", forward))["Layer"]
    assert (known.outcome, known.failures[0].kind) == ("failed", "len")
