"""Edits whose statements do the same when they are run alone as they are built, but not in the program around them."""

from __future__ import annotations

import pytest

from tests.agent.client import Client
from tests.agent.proving.functions.test_edited_function import tried

DIVIDED = "h = h / len(h) * scale"
HALVED = "h = h / h.size(0)"

OF_MODE = """\
def halved(x):
    scale = 1.0 if torch.is_grad_enabled() else 2.0
    return x / len(x) * scale

"""
OF_ONES = "self.register_buffer('p', torch.ones(8))"

BLOCK = """\
class Block(nn.Module):
    def __init__(self, act, offset):
        super().__init__()
        self.act, self.options = act, {"offset": offset}
        self.register_buffer("offset", torch.tensor(offset))

    def helped(self, x):
        return x.relu()

    def forward(self, x):
        x = WHAT
        return x

class Other(Block):
    def helped(self, x):
        return x.tanh()

"""


def program(before: str, statements: str, after: str = "", *, inputs: str = "x", init: str = "", head: str = "") -> str:
    """A program that fails before its statements, which a trace reaches after ``before``."""

    def indented(text: str) -> str:
        return "".join(f"        {line}\n" for line in text.splitlines())

    return (
        f"import contextlib\nimport torch\nfrom torch import nn\n\n{head}class Net(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n"
        "        self.lin = nn.Linear(8, 8)\n        self.cell = nn.LSTMCell(8, 8)\n        self.factor = 1.0\n"
        "        self.options = {'n': 2.0}\n"
        f"{indented(init)}\n    def forward(self, {inputs}):\n"
        "        torch.linalg.inv(x.flatten()[:1].reshape(1, 1) * 0)\n        h = self.lin(x)\n"
        f"{indented(before)}{indented(statements)}{indented(after)}        return h\n"
    )


def with_blocks(blocks: str, expression: str) -> str:
    """A program that adds the outputs of two blocks, whose forward is ``expression``."""
    init = f"self.blocks = nn.ModuleList([{blocks}])"
    return program("", "h = sum(block(h) for block in self.blocks)", init=init, head=BLOCK.replace("WHAT", expression))


CASES = {
    "an attribute that the program sets": (
        program("self.factor = 2.0", "h = h / len(h) * self.factor"),
        "h = h / len(h) * self.factor",
        HALVED,
    ),
    "a number that an optional input decides": (
        program("scale = 1.0\nif ys is None:\n    scale = 2.0", DIVIDED, inputs="x, ys=None"),
        DIVIDED,
        HALVED,
    ),
    "a number that the mode decides": (program("scale = 1.0 if not self.training else 2.0", DIVIDED), DIVIDED, HALVED),
    "a list of tensors": (
        program("rest = ys[1:]", "h = h / len(rest)", inputs="x, ys: 'list[torch.Tensor]'"),
        "h / len(rest)",
        "h / rest.size(0)",
    ),
    "a gradient that passes through": (
        program("", "with torch.no_grad():\n    y = h[: len(h)]", "h = h + y"),
        "y = h[: len(h)]",
        "y = h",
    ),
    "a mode that a guess decides": (
        program(
            "mode = contextlib.nullcontext() if len(x) > 3 else torch.no_grad()",
            "with mode:\n    y = self.lin(h) / len(h)",
            "h = h + y",
        ),
        "y = self.lin(h) / len(h)",
        "y = self.lin(h).detach() / h.size(0)",
    ),
    "a mode that a caller sets": (
        program(
            "",
            "with torch.no_grad():\n    y = halved(h)",
            "h = h + y",
            head=OF_MODE,
        ),
        "return x / len(x) * scale",
        "return x / x.size(0)",
    ),
    "an item that is written to": (
        program("a = ys['x']\nb = ys['x']", "c = b / len(b)\na.mul_(2)", "h = h + c", inputs="x, ys"),
        "c = b / len(b)\n        a.mul_(2)",
        "a.mul_(2)\n        c = b / b.size(0)",
    ),
    "an item of a mapping that is written to": (
        program("a = ys['x']", "c = a / len(a)\nys['x'].mul_(2)", "h = h + c", inputs="x, ys"),
        "c = a / len(a)\n        ys['x'].mul_(2)",
        "ys['x'].mul_(2)\n        c = a / a.size(0)",
    ),
    "an item that has two names": (
        program("a = ys['x']\nb = ys['x']", "c = b / len(b) * (1.0 + (a is b))", "h = h + c", inputs="x, ys"),
        "c = b / len(b) * (1.0 + (a is b))",
        "c = b / b.size(0)",
    ),
    "two constants in the place of one tensor": (
        program("", "for a, w in ((h, h), (torch.ones(8), torch.zeros(8))):\n    r = a / len(a) * w", "h = h + r"),
        "r = a / len(a) * w",
        "r = a / a.size(0) * a",
    ),
    "which tensor it is": (
        program("", "for a in (h, self.p):\n    r = a / len(a) * (1.0 + (a is self.p))", "h = h + r", init=OF_ONES),
        "r = a / len(a) * (1.0 + (a is self.p))",
        "r = a / a.size(0)",
    ),
    "a constant of another kind": (
        program("", "for a in (h, self.p):\n    b = a / len(a)", "h = h + b", init="self.p = torch.arange(8)"),
        "b = a / len(a)",
        "b = (a / a.size(0)).to(a.dtype)",
    ),
    "what only gradients would show": (
        program("", "with torch.no_grad():\n    h = h / len(h)", "h = h + h.requires_grad"),
        "with torch.no_grad():\n            h = h / len(h)",
        HALVED,
    ),
    "a text that a guess decides": (
        program("mode = 'a' if len(x) > 3 else 'b'", "h = h / len(h) * {'a': 1.0, 'b': 2.0}[mode]"),
        "h = h / len(h) * {'a': 1.0, 'b': 2.0}[mode]",
        f"{HALVED} * 2.0",
    ),
    "a list with two names": (
        program("parts = [h]\nalias = parts", "parts = parts + [h / len(h)]", "h = parts[-1] + len(alias)"),
        "parts = parts + [h / len(h)]",
        "parts += [h / h.size(0)]",
    ),
    "a computed tensor with two names": (
        program("a, b = h.topk(2)\nfirst = a", "a = a + len(a)", "h = a + first + b"),
        "a = a + len(a)",
        "a += a.size(0)",
    ),
    "a dictionary of the module": (
        program("options = self.options", "options = {**options, 'n': 3.0}\nh = h / len(h) * options['n']"),
        "options = {**options, 'n': 3.0}\n        h = h / len(h) * options['n']",
        f"options['n'] = 3.0\n        {HALVED} * options['n']",
    ),
    "a tensor that is changed later": (
        program("scale = torch.ones(1)", DIVIDED, "scale.add_(1)"),
        DIVIDED,
        f"{HALVED} * 2.0",
    ),
    "a variable of a function around": (
        program(
            "scale = 2.0\ndef scaled(t):\n    return t * scale", "h = scaled(h) / len(h)", "scale = 3.0\nh = scaled(h)"
        ),
        "h = scaled(h) / len(h)",
        "h = h * 3.0 / h.size(0)",
    ),
    "a name that a pattern binds": (
        program("", "match h / len(h):\n    case g: pass", "h = g"),
        "match h / len(h):",
        "match h / h.size(1):",
    ),
    "another statement in the line": (
        program("k = 1.0", "k = 2.0; h = h / len(h) * k"),
        "k = 2.0; h = h / len(h) * k",
        "k = 2.0; h = h / h.size(0) * 1.0",
    ),
    "weights": (
        program("", "self.lin.weight.data.add_(len(h))", "h = self.lin(h)"),
        "self.lin.weight.data.add_(len(h))",
        "self.lin.weight.data.add_(0 * h.size(0))",
    ),
    "lower precision": (
        program("", "with torch.autocast('cpu', torch.bfloat16):\n    h = self.lin(h).float() / len(h)"),
        "h = self.lin(h).float() / len(h)",
        "h = self.lin(h) / h.size(0)",
    ),
    "an optional input": (
        program("if ys is not None:\n    h = h + ys.abs()", "h = h / len(h) * (1 + (ys is None))", inputs="x, ys=None"),
        "h = h / len(h) * (1 + (ys is None))",
        HALVED,
    ),
    "an input with a number as its default": (
        program("", DIVIDED, inputs="x, scale=1"),
        DIVIDED,
        f"{HALVED} * (scale // 1)",
    ),
    "a tuple": (program("c = self.cell(x)", "n = len(c)", "h = h * n + c[0]"), "n = len(c)", "n = c.size(0)"),
    "a view": (
        program("a = h[0]", "a = a / len(a)\nh.zero_()", "h = h + a"),
        "a = a / len(a)\n        h.zero_()",
        "h.zero_()\n        a = a / a.size(0)",
    ),
    "modules with other functions": (
        with_blocks("Block(torch.relu, 0.0), Block(torch.tanh, 0.0)", "self.act(x) / len(x)"),
        "self.act(x) / len(x)",
        "torch.relu(x) / x.size(0)",
    ),
    "modules with other buffers": (
        with_blocks("Block(torch.relu, 1.0), Block(torch.relu, 2.0)", "x / len(x) * self.offset"),
        "x / len(x) * self.offset",
        "x / x.size(0)",
    ),
    "modules with other dictionaries": (
        with_blocks("Block(torch.relu, 1.0), Block(torch.relu, 2.0)", "x / len(x) * self.options['offset']"),
        "x / len(x) * self.options['offset']",
        "x / x.size(0)",
    ),
    "modules of a subclass": (
        with_blocks("Block(torch.relu, 1.0), Other(torch.relu, 1.0)", "self.helped(x) / len(x)"),
        "self.helped(x) / len(x)",
        "x.relu() / x.size(0)",
    ),
}
"""By what hides the change: the program, what is replaced in it, and by what."""


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("case", CASES)
async def test_what_the_program_around_would_show_is_not_proven(client: Client, case: str) -> None:
    text, old, new = CASES[case]
    proof = await tried(client, old, new, text)
    assert proof.verdict != "proven", proof.reason


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (program("scale = 2.0", DIVIDED), DIVIDED, f"{HALVED} * scale"),
        (
            program("", "for part in range(2):\n    h = h / len(h)\nelse:\n    h = h + 1"),
            "h = h / len(h)",
            "h = h / h.size(0)",
        ),
        (with_blocks("Block(torch.relu, 1.0), Block(torch.tanh, 2.0)", "x / len(x)"), "x / len(x)", "x / x.size(0)"),
        (program("", "with torch.no_grad():\n    h = h / len(h)"), "h = h / len(h)", "h = h / h.size(0)"),
        (
            program("", "for a in (h, self.p):\n    r = a / len(a)", "h = h + r", init=OF_ONES),
            "r = a / len(a)",
            "r = a / a.size(0)",
        ),
        (
            program(
                "a = ys['x']\nb = ys['x']",
                "c = a / len(a) + b",
                "h = h + c",
                inputs="x, ys: 'dict[str, torch.Tensor]'",
            ),
            "c = a / len(a) + b",
            "c = a / a.size(0) + b",
        ),
    ],
)
async def test_right_edits_of_the_same_programs_are_proven(client: Client, text: str, old: str, new: str) -> None:
    proof = await tried(client, old, new, text)
    assert proof.verdict == "proven", proof.reason
