"""What is proven of an edit of a function if no inputs are known for the program that calls it."""

from __future__ import annotations

import dataclasses

import pytest

from fx_lsp.agent.messages import Proof, Prove
from fx_lsp.agent.proving.functions.edited_function import changed_function
from tests.agent.client import PATIENT, Client, target_of

NET = """\
import torch
from torch import nn

def scaled(x):
    return x / len(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.width = 2
        self.lin = nn.Linear(8, 8)
        self.seen = []

    def half(self, x):
        return x / len(x)

    def drawn(self, x):
        y = torch.rand_like(x) if len(x) else x
        return y

    def viewed(self, x: torch.Tensor):
        return x[: len(x)]

    def counted(self, x):
        self.seen.append(1)
        return x / len(x)

    def forward(self, x):
        x = self.half(x) + self.drawn(x) + self.viewed(x) + self.counted(x) + scaled(x)
        raise ValueError("a package is missing")
"""
"""A program that can't be run."""


async def tried(client: Client, old: str, new: str, text: str = NET) -> Proof:
    """The result of replacing ``old`` by ``new``, which should mend the failures in the lines of ``old``."""
    file = client.write("net.py", text)
    target = target_of(file, "Net()")
    failures = (await client.trace(file, target)).only.failures
    assert text.count(old) == 1
    start = text[: text.index(old)].count("\n") + 1
    lines = range(start, start + old.count("\n") + 1)
    mended = tuple(one for one in failures if one.chain[-1].span.line in lines)
    assert mended
    edited = {file: text.replace(old, new)}
    request = Prove(file, target, target, mended, {}, edited, (str(client.root),), PATIENT)
    alone = await client.agent.prove(request)
    assert (alone.verdict, alone.lacks_inputs) == ("untried", True), alone.reason
    return await client.agent.prove(dataclasses.replace(request, function_only=True))


HALF = "def half(self, x):\n        return x / len(x)"
SCALED = "def scaled(x):\n    return x / len(x)"
DRAWN = "y = torch.rand_like(x) if len(x) else x\n"
VIEWED = "return x[: len(x)]"
COUNTED = "self.seen.append(1)\n        return x / len(x)"


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("old", "new", "verdict", "reason"),
    [
        (HALF, HALF.replace("len(x)", "x.size(0)"), "proven", "`Net.half`, run alone, behaves the same on"),
        (SCALED, SCALED.replace("len(x)", "x.size(0)"), "proven", "`scaled`, run alone, behaves the same on"),
        (HALF, HALF.replace("len(x)", "x.size(1)"), "refuted", "differs in the edited code"),
        (HALF, f"{HALF.replace('len(x)', 'x.size(0)')}\n    seen = 1", "untried", "more than one function"),
        (VIEWED, "return x[: x.size(0)]", "proven", "`Net.viewed`"),
        (VIEWED, "return x[: x.size(0)].clone()", "untried", "other side effects"),
        (DRAWN, "y = torch.rand_like(x) + 0 * torch.rand_like(x)\n", "refuted", "random numbers are drawn differs"),
        (COUNTED, COUNTED.replace("len(x)", "x.size(0)"), "proven", "the changed statements of `Net.counted`"),
        (COUNTED, COUNTED.replace("append(1)\n", "append(2)\n").replace("len(x)", "1"), "untried", "changes what its"),
    ],
)
async def test_a_function_is_tried_alone(client: Client, old: str, new: str, verdict: str, reason: str) -> None:
    proof = await tried(client, old, new)
    assert (proof.verdict, reason in proof.reason) == (verdict, True), proof.reason


NORMED = NET.replace("self.half(x) +", "self.normed(x, x) + self.half(x) +").replace(
    "        self.seen = []\n",
    """\
        self.norm = nn.BatchNorm1d(8)
        self.seen = []

    def normed(self, x: torch.Tensor, bias):
        x = self.norm(x) / len(x)
        return x if bias is None else x + 0
""",
)


@pytest.mark.asyncio(loop_scope="session")
async def test_a_function_that_changes_buffers_is_tried_with_all_inputs_in_one_order(client: Client) -> None:
    proof = await tried(client, "self.norm(x) / len(x)", "self.norm(x) / x.size(0)", NORMED)
    assert proof.verdict == "proven", proof.reason


WITHOUT_END = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.__lin = nn.Linear(8, 8)
        self.sizes = [1]

    def forward(self, x: torch.Tensor, factor: float = 2.0):
        x = self.__lin(x) + len(super().extra_repr())
        number = factor if factor > 1 else 1.0
        unused = number
        sizes = self.sizes
        y = x * number / len(x)
        z = y + number
        sizes.append(z)
        raise ValueError("a package is missing")
"""
"""A program that ends with what can't be run."""

MISSING_RESULT = "return missing_package.scan({'values': sizes})"

SUM = "y = x * number / len(x)"
BEFORE_SUM = f"unused = number\n        sizes = self.sizes\n        {SUM}"
MENDED = BEFORE_SUM.replace("len(x)", "x.size(0)")


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("new", "verdict", "reason"),
    [
        (MENDED.replace("unused = number\n", "\n"), "proven", "the beginning of `Net.forward`, run alone, behaves the"),
        (f"{MENDED}\n        number = 3.0", "refuted", "differs in the edited code"),
        (MENDED.replace("self.sizes", "[1]"), "untried", "other side effects"),
    ],
)
async def test_the_beginning_of_a_function_is_tried_alone(client: Client, new: str, verdict: str, reason: str) -> None:
    proof = await tried(client, BEFORE_SUM, new, WITHOUT_END)
    assert (proof.verdict, reason in proof.reason) == (verdict, True), proof.reason


@pytest.mark.asyncio(loop_scope="session")
async def test_what_a_missing_function_returns_is_no_result(client: Client) -> None:
    text = f"import missing_package\n{WITHOUT_END}".replace('raise ValueError("a package is missing")', MISSING_RESULT)
    proof = await tried(client, BEFORE_SUM, f"{MENDED}\n        number = 3.0", text)
    assert (proof.verdict, "differs in the edited code" in proof.reason) == ("refuted", True), proof.reason


@pytest.mark.asyncio(loop_scope="session")
async def test_what_may_be_given_lists_is_not_tried_alone(client: Client) -> None:
    text = NET.replace("def forward(self, x)", "def forward(self, x: list[torch.Tensor])")
    proof = await tried(client, HALF, HALF.replace("len(x)", "x.size(0)"), text)
    assert (proof.verdict, "takes lists" in proof.reason) == ("untried", True), proof.reason


HIDDEN = """\
import types
import numpy
import torch
from torch import nn

SEEN = []

class Block(nn.Module):
    def __init__(self, split):
        super().__init__()
        self.split = split

    def half(self, x: torch.Tensor):
        y = x.split(1) if self.split else x
        return x / len(y)

class Net(nn.Module):
    calls = 0

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(False), Block(True)])
        self.config = types.SimpleNamespace(calls=0)

    def parts(self, x, y):
        return x / len(y)

    def scaled(self, x, count):
        return x * 2 if count > 4 else x * 3

    def joined(self, xs):
        a, b, c = xs
        return a + b + c + len(xs)

    def noted(self, x):
        SEEN.append(1)
        return x / len(x)

    def counted(self, x):
        type(self).calls += 1
        return x - len(x)

    def configured(self, x):
        self.config.calls += 1
        return x + len(x)

    def drawn(self, x):
        numpy.random.rand()
        return x * len(x)

    def forward(self, x):
        torch.linalg.inv(x.flatten()[:1].reshape(1, 1) * 0)
        x = self.parts(x, x.split(2)) + self.scaled(x, x.size(0)) + sum(block.half(x) for block in self.blocks)
        x = x + self.joined(x.split(1))
        return self.noted(x) + self.counted(x) + self.configured(x) + self.drawn(x)
"""
"""A program that fails before it calls any of its functions."""


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("x / len(y)\n\n    def scaled", "x / y.size(0)\n\n    def scaled", "'tuple' object has no attribute 'size'"),
        ("x * 2 if count > 4 else x * 3", "torch.where(count > 4, x * 2, x * 3)", "given a tensor of shape"),
        ("a + b + c + len(xs)", "a + b + c + xs.size(0)", "'tuple' object has no attribute 'size'"),
        ("x / len(y)\n\nclass Net", "x / y.size(0)\n\nclass Net", "variables hold other values each time"),
        ("SEEN.append(1)\n        return x / len(x)", "return x / x.size(0)", "file or its classes keep"),
        ("type(self).calls += 1\n        return x - len(x)", "return x - x.size(0)", "file or its classes keep"),
        ("self.config.calls += 1\n        return x + len(x)", "return x + x.size(0)", "file or its classes keep"),
        ("numpy.random.rand()\n        return x * len(x)", "return x * x.size(0)", "random numbers are drawn differs"),
    ],
)
async def test_what_only_the_program_would_show_is_not_proven(client: Client, old: str, new: str, reason: str) -> None:
    proof = await tried(client, old, new, HIDDEN)
    assert (proof.verdict != "proven", reason in proof.reason) == (True, True), proof.reason


PROPERTY = """
    @property
    def size(self):
        return self.width

    @size.setter
    def size(self, size):
        self.width = size

    def half(self"""
"""A property: two functions of one name."""


def test_a_property_has_several_functions_of_its_name() -> None:
    old = NET.replace("    def half(self", PROPERTY.removeprefix("\n"), 1)
    assert old != NET
    assert changed_function(old, old.replace(HALF, HALF.replace("len(x)", "x.size(0)")), 1) == "Net.half"
    assert changed_function(old, old.replace("self.width = size", "self.width = 2"), 1) == "Net.size"


WRAPPED = "import torch.fx\n" + NET.replace("class Net", 'torch.fx.wrap("len")\n\nclass Net')


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (NET.replace(HALF, HALF.replace("len(x)", "x.size(0)")), "Net.half"),
        (WRAPPED, "Net.half"),
        (WRAPPED.replace("import torch.fx", "import math as torch"), None),
        (WRAPPED.replace("import torch.fx", "import math as nn"), None),
        (NET.replace(HALF, HALF.replace("x)", "x, y=1)")), None),
        (NET.replace("self.width = 2", "self.width = 3").replace(HALF, f"{HALF} + 1"), None),
        (NET.replace("class Net", "def scaled(x):\n    return x\n\nclass Net"), None),
        (NET.replace(HALF, HALF.replace("return", "global a\n        a = x\n        return")), None),
        (NET + "print()\n", None),
    ],
)
def test_the_only_function_that_an_edit_changes(new: str, expected: str | None) -> None:
    line = NET[: NET.index(HALF)].count("\n") + 2
    assert changed_function(NET, new, line) == expected


@pytest.mark.asyncio(loop_scope="session")
async def test_an_edit_of_more_than_one_function_is_not_tried_at_all(client: Client) -> None:
    text = "import torch\n" + NET.replace("import torch\n", "")
    file = client.write("net.py", text)
    target = target_of(file, "Net()")
    failures = (await client.trace(file, target)).only.failures
    edited = {file: text.replace("len(x)", "x.size(0)")}
    request = Prove(
        file, target, target, failures[:1], {file: "raise ValueError\n"}, edited, (str(client.root),), PATIENT
    )
    proof = await client.agent.prove(dataclasses.replace(request, function_only=True))
    assert proof.reason == "the edit changes more than one function"
