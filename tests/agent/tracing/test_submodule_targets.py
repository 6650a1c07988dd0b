"""Classes that can't be built alone, traced as parts of others or as their subclasses."""

from __future__ import annotations

import pytest

from fx_lsp.targets import find_targets
from tests.agent.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="session")

BACKBONE = """
from torch import nn

class Base(nn.Module):
    limit = None

    def __init__(self, body):
        super().__init__()
        if "stage" not in {name for name, _ in body.named_children()}:
            raise ValueError("no stage")
        self.body = body

    def forward(self, x):
        FORWARD

class Other:
    pass

class Backbone(Base, Other):
    def __init__(self):
        body = nn.Sequential()
        body.add_module("stage", nn.Linear(3, 3))
        super().__init__(body)
"""

FAILS = "return self.body(x) if x.sum() > 0 else x"
TRACES = "return self.body(x)"
FAILS_WITH_LIMIT = "return x if self.limit and x.sum() > self.limit else self.body(x)"


@pytest.mark.parametrize(
    ("forward", "more", "base", "condition"),
    [
        (FAILS, "", "failed", ""),
        (FAILS, "        self.body = nn.Softshrink()\n", "failed", ""),
        (FAILS_WITH_LIMIT, "        self.limit = 1\n", "unchecked", None),
        (TRACES, "", "traced", ""),
        (TRACES, "        self.body = nn.Sequential(body, nn.ReLU())\n", "traced", "as its subclass `Backbone`"),
    ],
    ids=["a failure", "another part", "a failure of the heir", "a trace", "a trace with more"],
)
async def test_a_base_class_is_built_with_what_a_subclass_passes_on(
    client: Client, forward: str, more: str, base: str, condition: str | None
) -> None:
    text = BACKBONE.replace("FORWARD", forward) + more
    file = client.write("net.py", text)
    reports = (await client.trace(file, *(find_targets(file, text) or ()))).reports
    assert reports["class:Backbone"].outcome == ("traced" if forward == TRACES else "failed")
    assert reports["class:Base"].outcome == base
    assert condition is None or reports["class:Base"].reason == condition


BUILT_BY_FUNCTION = """
from collections import OrderedDict

def body_of_stages():
    return nn.Sequential(OrderedDict(stage=nn.Linear(3, 3)))

def build(args):
    return nn.Sequential(Backbone("stages"), nn.Linear(3, args.classes))
"""


async def test_a_base_class_may_have_its_verdict_from_what_a_function_builds(client: Client) -> None:
    text = BACKBONE.replace("FORWARD", TRACES).replace("__init__(self):", "__init__(self, name):")
    text = text.replace("body = nn.Sequential()", "body = globals()['body_of_' + name]()")
    text = text.replace('        body.add_module("stage", nn.Linear(3, 3))\n', "") + BUILT_BY_FUNCTION
    text = text.replace("nn.Sequential(stage=nn.Linear(3, 3))", "nn.Sequential(OrderedDict(stage=nn.Linear(3, 3)))")
    text = f"from collections import OrderedDict\n{text}"
    file = client.write("net.py", text)
    reports = (await client.trace(file, *(find_targets(file, text) or ()))).reports
    assert (reports["class:Base"].outcome, reports["class:Base"].reason) == ("traced", "")


async def test_a_base_class_is_built_with_what_was_passed_on_when_its_subclass_could_be_built(client: Client) -> None:
    text = BACKBONE.replace("FORWARD", FAILS).replace("__init__(self):", "__init__(self, depth):")
    text = text.replace('add_module("stage",', 'add_module("stage" if depth in (18, 34) else "first",')
    file = client.write("net.py", text)
    reports = (await client.trace(file, *(find_targets(file, text) or ()))).reports
    assert (reports["class:Backbone"].outcome, reports["class:Base"].outcome) == ("failed", "failed")


SET_UP_BY_HOST = """
from torch import nn

class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lin = nn.Linear(dim, dim)
        self.height = None

    def forward(self, x):
        assert x.shape[1] == self.height * 2
        return self.lin(x)

class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.height = None

    def forward(self, x):
        return x + self.height * 2

class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.shift = Shift()
        self.blocks = nn.ModuleList([Block(dim), Block(dim)])

    def forward(self, x, height):
        if height % 2:
            x = x[:, 1:]
        self.shift.height = height
        x = self.shift(x)
        for block in self.blocks:
            block.height = height
            x = block(x)
        return x
"""


async def test_parts_that_only_their_host_sets_up_are_found_behind_its_failures(client: Client) -> None:
    file = client.write("net.py", SET_UP_BY_HOST)
    reports = (await client.trace(file, *(find_targets(file, SET_UP_BY_HOST) or ()))).reports
    host, block, shift = (reports[f"class:{name}"] for name in ("Layer", "Block", "Shift"))
    assert [failure.operation for failure in host.failures] == ["if", "assert"]
    assert (block.outcome, [failure.operation for failure in block.failures]) == ("failed", ["assert"])
    assert (shift.outcome, shift.failures) == ("traced", ())
    assert shift.reason.startswith("as part of the module that contains it")


NO_FAILURE_OF = {
    "its sibling's": """
class Base(nn.Module):
    strict = False

    def forward(self, x):
        return x * self.height if self.strict and x.sum() > 0 else x + self.height * 2

class Other(Base):
    strict = True

class Part(Base):
    pass
""",
    "its subclass's": """
class Part(nn.Module):
    def forward(self, x, n=1):
        y = x * (self.height * 2)
        return y if n > 0 else x

class Other(Part):
    def forward(self, x):
        return super().forward(x, x.size(0))
""",
}
"""Modules of the class Other fail, those of the class Part do not."""

FAILS_SOMEWHERE = {
    "a child": """
class Other(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x

class Part(nn.Sequential):
    def __init__(self):
        super().__init__(Other())

    def forward(self, x):
        return super().forward(x + self.height * 2)
""",
    "the program's own error": """
class Other(nn.Module):
    def forward(self, x):
        if type(x) is not torch.Tensor:
            raise TypeError
        return x

class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.other = Other()

    def forward(self, x):
        return self.other(x + self.height * 2)
""",
}

HOST = """
class Host(nn.Module):
    def __init__(self):
        super().__init__()
        self.part, self.other = Part(), Other()
        self.part.height = self.other.height = None

    def forward(self, x, height):
        if height % 2:
            x = x[:, 1:]
        self.part.height = self.other.height = 2
        return self.other(self.part(x))
"""


async def in_host(client: Client, classes: str) -> str:
    text = f"import torch\nfrom torch import nn\n{classes}{HOST}"
    file = client.write("net.py", text)
    return (await client.trace(file, *(find_targets(file, text) or ()))).reports["class:Part"].outcome


@pytest.mark.parametrize("whose", NO_FAILURE_OF)
async def test_the_failures_of_other_parts_are_not_those_of_a_part(client: Client, whose: str) -> None:
    assert await in_host(client, NO_FAILURE_OF[whose]) == "traced"


@pytest.mark.parametrize("what", FAILS_SOMEWHERE)
async def test_a_part_in_which_something_fails_does_not_trace(client: Client, what: str) -> None:
    assert await in_host(client, FAILS_SOMEWHERE[what]) in ("failed", "unchecked")
