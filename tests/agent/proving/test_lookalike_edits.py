"""Edits that look right and are not: writes to items, results that are passed to a function, losses, static methods."""

from __future__ import annotations

import pytest

from fx_lsp.agent.messages import Snippet
from tests.agent.client import Client, target_of
from tests.agent.proving.edits import Edit, program, prove

pytestmark = pytest.mark.asyncio(loop_scope="session")

LAYERS = "self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(2))"
WRITE = "y[:, i] = x[:, i] * 2"
ROWS = program(f"y = x.new_zeros(x.size(0), 4) + x[:, :4]\nfor i in range(2):\n    {WRITE}\nreturn y")
OTHERS = ROWS.replace("    for i", "    z = y.view(-1)\n        for i").replace("return y", "return y + z[0]")
LIST = program("for i in range(2):\n    x[i] = self.layers[i](x[i])\nreturn x[0] - x[1]", init=LAYERS)
HELPER = '\n\ntorch.fx.wrap("put")\n\ndef put(x, i, value):\n    '
LOSS = program(
    "if score.size(2) != target.size(1) or score.size(3) != target.size(2):\n"
    "    score = torch.nn.functional.interpolate(score, size=(target.size(1), target.size(2)), mode='bilinear')\n"
    "return self.loss(score, target)",
    init="self.loss = torch.nn.CrossEntropyLoss()",
).replace("self, x", "self, score, target")
CHECK = "if score.size(2) != target.size(1) or score.size(3) != target.size(2):\n            score = "
RESIZED = "torch.nn.functional.interpolate(score, size=(target.size(1), target.size(2)), mode='bilinear')"
STATIC = program("return x * torch.sigmoid(x) - 1").replace("def forward(self, x)", "@staticmethod\n    def forward(x)")
METHOD = "@staticmethod\n    def forward(x):\n        return x * torch.sigmoid(x) - 1"
CHANCE = program(
    "return Poisson(self.rate).log_prob(x)",
    init="self.register_buffer('rate', torch.ones(1))",
    before="from torch.distributions import Poisson",
)
PIXELS = program(
    "assert (x.size(2) - 1) % 8 == 0 and (x.size(3) - 1) % 8 == 0\n"
    "size = int((x.size(2) - 1) / 8 * 8 + 1), int((x.size(3) - 1) / 8 * 8 + 1)\n"
    "x = torch.nn.functional.interpolate(self.layers(x), size=size, mode='bilinear', align_corners=True)\n"
    "return self.loss(x, y)",
    init="self.layers = torch.nn.Sequential(torch.nn.Conv2d(3, 2304, 3, 8, 1), torch.nn.Conv2d(2304, 2304, 1),"
    " torch.nn.Conv2d(2304, 2, 1))\nself.loss = torch.nn.CrossEntropyLoss()",
).replace("self, x", "self, x, y=None")
"""A model that is slow to run, has no small twin, and needs images of certain sizes, and a label for each pixel."""
CHECKED = "torch._assert((x.size(2) - 1) % 8 == 0, '')\n        torch._assert((x.size(3) - 1) % 8 == 0, '')\n        "
NEEDED = "def model(x, mask=None):\n    assert mask is not None\n    return x * len(mask)\n"


def passed(value: str, body: str, text: str = LIST) -> Edit:
    """The edit by which a recorded function with this ``body`` does what the loop of a program does."""
    old = text[text.index("x[i] = ") : text.index("\n        return x[0]")]
    whole = text.replace("import torch.fx\n", f"import torch.fx\n{HELPER}{body}\n    return x\n")
    return Edit(text, text, whole.replace(old, f"x = put(x, i, {value})"))


def resized(size: str) -> Edit:
    """The edit of `PIXELS` by which it returns images of another size."""
    return Edit(PIXELS, PIXELS[PIXELS.index("assert") : PIXELS.index("        x = torch")], f"{CHECKED}size = {size}\n")


RIGHT = {
    "the place of the turn": Edit(ROWS, WRITE, "y = torch.select_scatter(y, x[:, i] * 2, 1, i)"),
    "a module's result": passed("self.layers[i](x[i])", "x[i] = value"),
    "the size that a loss needs": Edit(LOSS, CHECK, "score = "),
    "the sizes of a large model": resized(
        "torch.sym_int((x.size(2) - 1) / 8 * 8 + 1), torch.sym_int((x.size(3) - 1) / 8 * 8 + 1)"
    ),
    "a distribution that checks nothing": Edit(CHANCE, "self.rate)", "self.rate, validate_args=False)"),
    "a method": Edit(STATIC, METHOD, METHOD.replace("@staticmethod\n    ", "").replace("(x):", "(self, x):")),
}


@pytest.mark.parametrize("edit", RIGHT.values(), ids=RIGHT)
async def test_what_is_right_is_proven(client: Client, edit: Edit) -> None:
    proof = await prove(client, edit, first_only=False)
    assert proof.verdict == "proven", proof.reason


WRONG = {
    "the place before": Edit(ROWS, WRITE, "y = torch.select_scatter(y, x[:, i] * 2, 1, i - 1)"),
    "another dimension": Edit(ROWS, WRITE, "y = torch.select_scatter(y, x[i, :4] * 2, 0, i)"),
    "the first turn only": Edit(ROWS, WRITE, "y = torch.select_scatter(y, x[:, i] * 2, 1, 0)"),
    "a tensor that has another name": Edit(OTHERS, WRITE, "y = torch.select_scatter(y, x[:, i] * 2, 1, i)"),
    "a tensor of another dtype": Edit(ROWS, WRITE, "y = torch.select_scatter(y.double(), x[:, i].double() * 2, 1, i)"),
    "a list that is copied": passed("self.layers[i](x[i])", "x = list(x); x[i] = value"),
    "the other module": passed("self.layers[1 - i](x[i])", "x[i] = value"),
    "the other item": passed("self.layers[i](x[0])", "x[i] = value"),
    "a list that grows": passed("self.layers[i](x[i])", "x[i] = value; x.append(value)"),
    "a loss with corners": Edit(LOSS, CHECK + RESIZED, f"score = {RESIZED[:-1]}, align_corners=True)"),
    "a loss by the nearest": Edit(LOSS, CHECK + RESIZED, f"score = {RESIZED.replace('bilinear', 'nearest-exact')}"),
    "a loss without the last class": Edit(
        LOSS,
        LOSS[LOSS.index("if score") :],
        f"score = {RESIZED}\n        return self.loss(score, target.clamp(max=score.size(1) - 2))\n",
    ),
    "a loss of the first items": Edit(
        LOSS,
        LOSS[LOSS.index("if score") :],
        f"score = {RESIZED}\n        return self.loss(score[:1], target[:1])\n",
    ),
    "the only size that was tried at first": resized("9, 9"),
    "the height as the width": resized("x.size(2), x.size(2)"),
    "a distribution of another rate": Edit(CHANCE, "self.rate)", "2 * self.rate, validate_args=False)"),
    "a method that scales": Edit(STATIC, METHOD, "def forward(self, x):\n        return x * torch.sigmoid(x) - 1.001"),
    "a method that writes": Edit(STATIC, METHOD, "def forward(self, x):\n        return x.mul_(torch.sigmoid(x)) - 1"),
}


@pytest.mark.parametrize("edit", WRONG.values(), ids=WRONG)
async def test_what_is_wrong_is_not_proven(client: Client, edit: Edit) -> None:
    proof = await prove(client, edit, first_only=False)
    assert proof.verdict != "proven", proof.reason


async def test_an_argument_that_the_program_needs_is_not_left_out(client: Client) -> None:
    fixed = target_of(str(client.root / "net.py"), "model", concrete_args=Snippet("{'mask': None}", 1))
    proof = await prove(client, Edit(NEEDED, "def model", "def model", root="model"), edited_target=fixed)
    assert (proof.verdict, proof.lacks_inputs) == ("refuted", False), proof.reason
    assert proof.reason.startswith("after the edit, tracing fails at ")
