"""Small programs and edits of them, by what is to come of trying the edit."""

from __future__ import annotations

import dataclasses
import textwrap
from pathlib import Path

from fx_lsp.agent.messages import Failure, Proof, Prove, Target
from fx_lsp.agent.proving.trial_inputs import NO_INPUTS
from tests.agent.client import PATIENT, Client, target_of


@dataclasses.dataclass(frozen=True)
class Edit:
    """A program and what is done to it; what is to be mended are the failures that it is reported to have."""

    text: str
    old: str
    new: str
    root: str = "Net()"


def program(forward: str, init: str = "pass", before: str = "") -> str:
    """A file with a module ``Net``."""
    return "\n".join(
        [
            "import torch",
            "import torch.fx",
            textwrap.dedent(before),
            "class Net(torch.nn.Module):",
            "    def __init__(self):",
            "        super().__init__()",
            textwrap.indent(textwrap.dedent(init), " " * 8),
            "    def forward(self, x):",
            textwrap.indent(textwrap.dedent(forward), " " * 8),
            "",
        ]
    )


async def prove(
    client: Client,
    edit: Edit,
    *,
    first_only: bool = True,
    at: str = "",
    target: Target | None = None,
    edited_target: Target | None = None,
) -> Proof:
    """Have the agent try an edit that should fix the first failure, all of them, or those of the kind ``at``."""
    file = client.write("net.py", edit.text)
    text = Path(file).read_text(encoding="utf-8")
    assert edit.old in text
    target = target or target_of(file, edit.root)
    failures: tuple[Failure, ...] = (await client.trace(file, target)).only.failures
    assert failures, "there is nothing to mend"
    edited = {file: text.replace(edit.old, edit.new)}
    kind = tuple(failure for failure in failures if failure.kind == at)
    mended = kind or (failures[:1] if first_only else failures)
    roots = (str(client.root),)
    return await client.agent.prove(Prove(file, target, edited_target or target, mended, {}, edited, roots, PATIENT))


MERGE = """
class Merge(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(channels, width, 1) for channels in (3, 5, 7))

    def forward(self, state):
        maps = state["maps"]
        merged = self.convs[0](maps[0]) + self.convs[1](maps[1]) + self.convs[2](maps[2])
        return merged * state["gates"]["all"] / len(merged)
"""
"""A block whose input follows from nothing in its own code."""

BOX = """
class Box:
    def __init__(self, value, other=None):
        self.value, self.other, self.me = value, other, self
"""
SLOTS = """
class Base:
    __slots__ = ("value",)
class Pair(Base):
    __slots__ = ("other", "not_set")
    def __init__(self, value, other):
        self.value, self.other = value, other
"""
OUTPUT = """
import collections, dataclasses
@dataclasses.dataclass
class Output(collections.OrderedDict):
    value: torch.Tensor
    def __post_init__(self):
        self["value"] = self.value
"""

ARRAY = """
@torch.fx.wrap
def array(x):
    return x.detach().numpy()

@torch.fx.wrap
def count(calls):
    calls += 1
"""

PROVEN = {
    "a NumPy array": Edit(program("return array(x / len(x))", before=ARRAY), "len(x)", "x.size(0)"),
    "len": Edit(program("return x / len(x)"), "len(x)", "x.size(0)"),
    "without gradients": Edit(
        program(
            "with torch.no_grad():\n    return x * self.scale / len(x)",
            init="self.scale = torch.nn.Parameter(torch.ones(()))",
        ),
        "len(x)",
        "x.size(0)",
    ),
    "wrap": Edit(program("return x / len(x)"), "import torch.fx\n", 'import torch.fx\n\ntorch.fx.wrap("len")\n'),
    "a weight that nothing initializes, and another dtype": Edit(
        program(
            "w = self.w if self.w.dtype == x.dtype else self.w.to(x.dtype)\nreturn x * w",
            init="self.w = torch.nn.Parameter(torch.empty(8))",
        ),
        "self.w if self.w.dtype == x.dtype else self.w.to(x.dtype)",
        "self.w.to(x.dtype)",
    ),
    "where": Edit(
        program("if x.sum() > 0:\n    return x * 2\nreturn x - 1"),
        "if x.sum() > 0:\n            return x * 2\n        return x - 1",
        "return torch.where(x.sum() > 0, x * 2, x - 1)",
    ),
    "a mask": Edit(
        program(
            "return self.lin(x).masked_fill(mask, 0.0) / len(x)", init="self.lin = torch.nn.Linear(12, 12)"
        ).replace("self, x", "self, x, mask"),
        "len(x)",
        "x.size(0)",
    ),
    "a comment with a shape that takes too much memory": Edit(
        program("# x: (99999, 99999, 99999)\nreturn self.lin(x) / len(x)", init="self.lin = torch.nn.Linear(12, 12)"),
        "len(x)",
        "x.size(0)",
    ),
    "where, in an expression": Edit(
        program("return (x * 2 if x.sum() > 0 else x - 1) + 1"),
        "(x * 2 if x.sum() > 0 else x - 1)",
        "torch.where(x.sum() > 0, x * 2, x - 1)",
    ),
    "a branch that moves": Edit(
        program("return half(x)", before="def half(x):\n    return x if x.dim() > 7 else x / 2"),
        "    return x if x.dim() > 7 else x / 2",
        "    return _half(x)\n@torch.fx.wrap\ndef _half(x):\n    return x if x.dim() > 7 else x / 2",
    ),
    "masked fill": Edit(
        program("y = x.clone()\ny[y > 0] = 0.5\nreturn y"), "y[y > 0] = 0.5", "y = y.masked_fill(y > 0, 0.5)"
    ),
    "assert": Edit(
        program("assert x.dim() == 2\nreturn self.a(x)", init="self.a = torch.nn.Linear(4, 4)"),
        "assert x.dim() == 2",
        'torch._assert(x.dim() == 2, "")',
    ),
    "a check that explains itself": Edit(
        program("if x.dim() < 1:\n    d = x.dim()\n    raise ValueError(d)\nreturn x * 2"),
        "if x.dim() < 1:\n            d = x.dim()\n            raise ValueError(d)\n",
        "torch._assert(x.dim() >= 1, '')\n",
    ),
    "one of two equal expressions": Edit(
        program("y = x * len(x)\nreturn y - len(x)"), "y = x * len(x)", "y = x * x.size(0)"
    ),
    "a layer that normalizes and one that drops": Edit(
        program(
            "return self.a(x) / len(x)",
            init="self.a = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout())",
        ),
        "len(x)",
        "x.size(0)",
    ),
    "modules in a plain list": Edit(
        program(
            "for layer in self.layers:\n    x = layer(x)\nreturn x",
            init="self.layers = [torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)]",
        ),
        "[torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)]",
        "torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)])",
    ),
    "an object that holds itself": Edit(program("y = x / len(x)\nreturn Box([y])", before=BOX), "len(x)", "x.size(0)"),
    "an object with slots": Edit(
        program("y = x / len(x)\nreturn Pair(y, x.dtype)", before=SLOTS), "len(x)", "x.size(0)"
    ),
    "a mapping of a class of its own": Edit(program("return Output(x / len(x))", before=OUTPUT), "len(x)", "x.size(0)"),
    "an input with attributes": Edit(
        program(
            "y = self.lin(x.points).masked_fill(x.mask, 0.0)\nreturn y / len(x.mask)",
            init="self.lin = torch.nn.Linear(12, 12)",
        ),
        "len(x.mask)",
        "x.mask.size(0)",
    ),
    "an argument that is compared with strings": Edit(
        program(
            "y = x / len(x)\nassert mode in ('sum', 'mean')\nreturn y.sum() if mode == 'sum' else y.mean()"
        ).replace("self, x", "self, x, mode"),
        "len(x)",
        "x.size(0)",
    ),
    "a program for inference whose other mode changes buffers": Edit(
        program("return self.norm(x) / len(x)", init="self.norm = torch.nn.BatchNorm1d(8)\nself.eval()"),
        "len(x)",
        "x.size(0)",
    ),
    "a program that can only be differentiated in training": Edit(
        program("y = (x / len(x)).sigmoid()\nif not self.training:\n    y[..., :1] = y[..., :1] * 2\nreturn y"),
        "len(x)",
        "x.size(0)",
    ),
    "a time that an attribute keeps": Edit(
        program("self.seconds = time.perf_counter()\nreturn x / len(x)", before="import time"), "len(x)", "x.size(0)"
    ),
    "inputs as the file has them": Edit(
        program("return x.reshape(2, 17, 5) / len(x)") + "\ndef main():\n    y = torch.ones(34, 5)\n    Net()(y)\n",
        "len(x)",
        "x.size(0)",
    ),
}

REFUTED = {
    "a NumPy array that counts calls": (
        Edit(
            program("count(self.calls)\nreturn x / len(x)", init="self.calls = array(torch.zeros(1))", before=ARRAY),
            "count(self.calls)\n        return x / len(x)",
            "return x / x.size(0)",
        ),
        "whether the call changes `calls` differs",
    ),
    "another NumPy array": (
        Edit(program("return array(x / len(x))", before=ARRAY), "len(x)", "x.size(1)"),
        "the output differs",
    ),
    "nothing is mended": (
        Edit(program("return x / len(x)"), "return x", "return  x"),
        "tracing still fails at `len(x)`",
    ),
    "another failure comes": (
        Edit(program("return x / len(x)"), "len(x)", "int(x.size(0))"),
        "after the edit, tracing fails at `int(x.size(0))`",
    ),
    "it can't be imported": (Edit(program("return x / len(x)"), "len(x)", "x.size(0) +"), "imported"),
    "another number": (Edit(program("return x / len(x)"), "len(x)", "x.size(1)"), "differs"),
    "a number more": (Edit(program("return x / len(x)"), "len(x)", "x.size(0) + 1e-3"), "the output differs"),
    "another dtype": (Edit(program("return x / len(x)"), "/ len(x)", "/ x.size(0) + x.double() * 0"), "differs"),
    "a height instead of a width": (
        Edit(
            program(
                "b, n, c = x.shape\nreturn self.lin(x).transpose(1, 2).reshape(b, c, h, w) / len(x)",
                init="self.lin = torch.nn.Linear(12, 12)",
            ).replace("forward(self, x)", "forward(self, x, h, w)"),
            "reshape(b, c, h, w) / len(x)",
            "reshape(b, c, w, h) / x.size(0)",
        ),
        "the shape of the output",
    ),
    "a number that is an argument": (
        Edit(
            program("return x * scale / len(x)").replace("self, x", "self, x, scale: float"),
            "x * scale / len(x)",
            "x * 0.5 / x.size(0)",
        ),
        "the output differs",
    ),
    "a default that is left out": (
        Edit(
            program("return x * scale / len(x)").replace("self, x", "self, x, scale=1.0"),
            "x * scale / len(x)",
            "x / x.size(0)",
        ),
        "the output differs",
    ),
    "a condition that a default meets": (
        Edit(
            program("x = x / len(x)\nif k > 0:\n    x = x * 2\nreturn x").replace("self, x", "self, x, k=1"),
            "x = x / len(x)\n        if k > 0:\n            x = x * 2",
            "x = x / x.size(0)\n        x = x * 2",
        ),
        "the output differs",
    ),
    "a broadcast that fits square inputs": (
        Edit(
            program("return x * self.w[: len(x)].unsqueeze(1)", init='self.register_buffer("w", torch.randn(99))'),
            "self.w[: len(x)].unsqueeze(1)",
            "self.w[: x.size(0)]",
        ),
        "the edited code",
    ),
    "the height of another image": (
        Edit(
            program(
                "height = max(len(image) for image in x)\nreturn torch.stack([image[:1] * height for image in x])"
            ).replace("self, x", "self, x: list[torch.Tensor]"),
            "max(len(image) for image in x)",
            "x[0].size(0)",
        ),
        "the output differs",
    ),
    "the same for a batch of one": (Edit(program("return x.sum(0) / len(x)"), " / len(x)", ""), "differs"),
    "a copy instead of a view": (
        Edit(program("y = x[: len(x)]\ny.add_(1)\nreturn y * 1"), "x[: len(x)]", "x[: x.size(0)].clone()"),
        "the content of the inputs after the call differs",
    ),
    "another rate of dropout": (
        Edit(
            program("return torch.nn.functional.dropout(x, 0.5, True) / len(x)"),
            "x, 0.5, True) / len(x)",
            "x, 0.1, True) / x.size(0)",
        ),
        "the output differs",
    ),
    "a division that is not rounded": (
        Edit(program("return x * (len(x) // 2)"), "len(x) // 2", "x.size(0) / 2"),
        "the output differs",
    ),
    "another dimension": (
        Edit(program("return (x / len(x)).softmax(0)"), "len(x)).softmax(0)", "x.size(0)).softmax(-1)"),
        "the output differs",
    ),
    "no gradient": (Edit(program("return x / len(x)"), "x / len(x)", "x.detach() / x.size(0)"), "differs"),
    "outputs in another order": (
        Edit(program("return x / len(x), x * 2"), "x / len(x), x * 2", "x * 2, x / x.size(0)"),
        "differs",
    ),
    "a limit that few values reach": (
        Edit(program("return x.clamp(-50.0, 50.0) / len(x)"), "x.clamp(-50.0, 50.0) / len(x)", "x / x.size(0)"),
        "the output differs",
    ),
    "the other side is NaN": (
        Edit(
            program("if (x > 0).all():\n    return x.sqrt()\nreturn x"),
            "if (x > 0).all():\n            return x.sqrt()\n        return x",
            "c = (x > 0).all().float()\n        return c * x.sqrt() + (1 - c) * x",
        ),
        "the output differs in the edited code",
    ),
    "the gradient of the other side is NaN": (
        Edit(
            program("if (x > 0).all():\n    return x.sqrt()\nreturn x"),
            "if (x > 0).all():\n            return x.sqrt()\n        return x",
            "return torch.where((x > 0).all(), x.sqrt(), x)",
        ),
        "the gradient of `input x` differs",
    ),
    "a narrow past the end": (
        Edit(
            program("return self.scale[: len(x)].sum() * x", init='self.register_buffer("scale", torch.randn(100))'),
            "self.scale[: len(x)]",
            "torch.narrow(self.scale, 0, 0, x.size(0))",
        ),
        "the edited code raises",
    ),
    "a write that the caller saw": (
        Edit(program("x[x > 0] = 0.5\nreturn x * 1"), "x[x > 0] = 0.5", "x = x.masked_fill(x > 0, 0.5)"),
        "the content of the inputs after the call differs",
    ),
    "a write that a view saw": (
        Edit(
            program("x = x + 1\ny = x[:1]\nx[x > 0] = 0.5\nreturn x + y"),
            "x[x > 0] = 0.5",
            "x = x.masked_fill(x > 0, 0.5)",
        ),
        "the output differs",
    ),
    "a write to a buffer": (
        Edit(
            program(
                "self.seen[0] = x.sum()\nreturn x / len(x)",
                init='self.register_buffer("seen", torch.zeros(1))',
            ),
            "self.seen[0] = x.sum()\n        return x / len(x)",
            "return x / x.size(0)",
        ),
        "the content of the module's buffers after the call differs",
    ),
    "behind scales that start at zero": (
        Edit(
            program(
                "return x + self.a * self.b * len(x)",
                init="self.a, self.b = (torch.nn.Parameter(torch.zeros(())) for _ in range(2))",
            ),
            "len(x)",
            "x.dim()",
        ),
        "differs",
    ),
    "a number in an object": (
        Edit(program("y = x / len(x)\nreturn Box(y)", before=BOX), "len(x)", "(x.size(0) + 1)"),
        "the output differs",
    ),
    "a number in a slot": (
        Edit(program("y = x / len(x)\nreturn Pair(x, y)", before=SLOTS), "len(x)", "(x.size(0) + 1)"),
        "the output differs",
    ),
    "the gradient of what an object holds": (
        Edit(
            program("y = x.exp() / len(x)\nreturn Box(y)", before=BOX),
            "x.exp() / len(x)",
            "x.detach().exp() / x.size(0)",
        ),
        "the gradient of `input x` differs",
    ),
    "an object of another class": (
        Edit(
            program("y = Box\nz = y(x / len(x))\nreturn z", before=f"{BOX}\nclass Other(Box): pass"),
            "y = Box\n        z = y(x / len(x))",
            "y = Other\n        z = y(x / x.size(0))",
        ),
        "the structure",
    ),
    "a list that is no longer the same one": (
        Edit(
            program("a = [x / len(x)]\nb = a\nreturn Box(a, b)", before=BOX),
            "a = [x / len(x)]\n        b = a",
            "a = [x / x.size(0)]\n        b = list(a)",
        ),
        "the structure",
    ),
    "a mapping with another key": (
        Edit(
            program("return Output(x / len(x))", before=OUTPUT),
            "return Output(x / len(x))",
            "y = Output(x / x.size(0)); y['more'] = x; return y",
        ),
        "the structure",
    ),
    "a write to an attribute of an input": (
        Edit(
            program("x.points = x.points * 2\nreturn x.points / len(x.points)"),
            "x.points = x.points * 2\n        return x.points / len(x.points)",
            "y = x.points * 2\n        return y / y.size(0)",
        ),
        "the content of the inputs after the call differs",
    ),
    "a norm that fits square inputs": (
        Edit(
            program("return x * len(x) / x.norm(dim=1, keepdim=True)"),
            "len(x) / x.norm(dim=1, keepdim=True)",
            "x.size(0) / x.norm(dim=1)",
        ),
        "the edited code",
    ),
    "a squeeze that takes a batch of one": (
        Edit(program("return x.unsqueeze(1).squeeze(1) / len(x)"), ".squeeze(1) / len(x)", ".squeeze() / x.size(0)"),
        "the shape of the output",
    ),
    "a branch for a batch of one": (
        Edit(
            program("y = x * 2\nif len(y) == 1:\n    y = y + 1\nreturn y"),
            "\n        if len(y) == 1:\n            y = y + 1",
            "",
        ),
        "the output differs",
    ),
    "the first rows instead of all": (
        Edit(
            program("y = 0\nfor row in x:\n    y = y + row\nreturn y * 1"),
            "y = 0\n        for row in x:\n            y = y + row",
            "y = x[:2].sum(0)",
        ),
        "the output differs",
    ),
    "a half of an odd size": (
        Edit(program("return x * (-len(x) // 2)"), "-len(x) // 2", "-(x.size(0) // 2)"),
        "the output differs",
    ),
    "a write to an input instead of a copy": (
        Edit(
            program("y = x.clone()\ny.add_(1)\nreturn y / len(x)"),
            "y = x.clone()\n        y.add_(1)\n        return y / len(x)",
            "y = x\n        y.add_(1)\n        return y / x.size(0)",
        ),
        "the content of the inputs after the call differs",
    ),
    "an activation that overwrites its input": (
        Edit(
            program("return torch.nn.functional.relu(x) / len(x)"),
            "relu(x) / len(x)",
            "relu(x, inplace=True) / x.size(0)",
        ),
        "the content of the inputs after the call differs",
    ),
    "a dtype that most inputs have": (
        Edit(
            program("return x.cumsum(0, dtype=x.dtype) / len(x)"),
            "dtype=x.dtype) / len(x)",
            "dtype=torch.float32) / x.size(0)",
        ),
        "the dtype of the output",
    ),
    "dropout that ignores the mode": (
        Edit(
            program("return torch.nn.functional.dropout(x, 0.5, self.training) / len(x)"),
            "self.training) / len(x)",
            "not self.training) / x.size(0)",
        ),
        "the output differs",
    ),
    "dropout at another place": (
        Edit(
            program("return torch.nn.functional.dropout(x.exp() / len(x), 0.5, True).sum(1, True)"),
            "dropout(x.exp() / len(x), 0.5, True).sum(1, True)",
            "dropout(x.exp().sum(1, True) / x.size(0), 0.5, True)",
        ),
        "the output differs",
    ),
    "random numbers in another order": (
        Edit(
            program("a = torch.rand_like(x)\nb = torch.rand_like(x)\nreturn (x * a + b) / len(x)"),
            "a = torch.rand_like(x)\n        b = torch.rand_like(x)\n        return (x * a + b) / len(x)",
            "b = torch.rand_like(x)\n        a = torch.rand_like(x)\n        return (x * a + b) / x.size(0)",
        ),
        "the output differs",
    ),
    "running statistics that stay as they are": (
        Edit(
            program("return self.norm(x) / len(x)", init="self.norm = torch.nn.BatchNorm1d(4)"),
            "self.norm(x) / len(x)",
            "torch.nn.functional.batch_norm("
            "x, None, None, self.norm.weight, self.norm.bias, training=True) / x.size(0)",
        ),
        "differs",
    ),
    "what another option asks for": (
        Edit(
            program("y = x / len(x)\nreturn y.sum() if mode == 'sum' else y").replace(
                "self, x", "self, x, mode='none'"
            ),
            "x / len(x)\n        return y.sum() if mode == 'sum' else y",
            "x / x.size(0)\n        return y.mean() if mode == 'sum' else y",
        ),
        "the output differs",
    ),
    "what an attribute keeps": (
        Edit(program("self.loss = x.sum() * len(x)\nreturn x * 2"), "len(x)", "x.size(1)"),
        "what the call leaves in `loss` differs",
    ),
    "what a list keeps": (
        Edit(program("self.seen.append(x / len(x))\nreturn x * 2", init="self.seen = []"), "len(x)", "x.size(1)"),
        "what the call leaves in `seen` differs",
    ),
    "what a class keeps": (
        Edit(program("type(self).last = x / len(x)\nreturn x * 2"), "len(x)", "x.size(1)"),
        "what the call leaves in `Net.last` differs",
    ),
    "what a global keeps": (
        Edit(program("global LAST\nLAST = x / len(x)\nreturn x * 2", before="LAST = 0"), "len(x)", "x.size(1)"),
        "what the call leaves in `LAST` differs",
    ),
    "an attribute that is no longer set": (
        Edit(
            program("self.rows = len(x)\nreturn x * 2", init="self.rows = 0"),
            "self.rows = len(x)\n        return x * 2",
            "return x * 2",
        ),
        "whether the call changes `rows` differs",
    ),
    "what is done for training only": (
        Edit(
            program("if self.training:\n    x = x / len(x)\nreturn x * 2"),
            "if self.training:\n            x = x / len(x)",
            "x = x / x.size(0)",
        ),
        "in the other mode (training or inference), the output differs",
    ),
    "an order in memory": (
        Edit(program("return x.reshape(-1) / len(x)"), "x.reshape(-1) / len(x)", "x.view(-1) / x.size(0)"),
        "the edited code raises",
    ),
    "fewer items than there are layers": (
        Edit(
            program(
                "y = 0\nfor one, layer in zip(x, self.layers):\n    y = y + layer(one)\nreturn y",
                init="self.layers = torch.nn.ModuleList([torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)])",
            ).replace("self, x", "self, x: list[torch.Tensor]"),
            "zip(x, self.layers):\n            y = y + layer(one)",
            "enumerate(self.layers):\n            y = y + layer(x[one])",
        ),
        "the edited code raises",
    ),
    "another structure": (Edit(program("return x / len(x), x"), "len(x), x", "x.size(0), [x]"), "the structure"),
    "another shape": (Edit(program("return x / len(x)"), "len(x)", "x.size(0) + x[:, None]"), "the shape"),
    "a graph that keeps one branch": (
        Edit(
            program("return x * 2 if x.sum() > 0 else x"),
            "if x.sum() > 0",
            "if type(x) is torch.Tensor and x.sum() > 0",
        ),
        "differs in the graph",
    ),
}

UNTRIED = {
    "a side that no input takes": (
        Edit(
            program("y = x * 2 if (x.sum() - 1e9).abs() < 1 else x - 1\nreturn y"),
            "x * 2 if (x.sum() - 1e9).abs() < 1 else x - 1",
            "torch.where((x.sum() - 1e9).abs() < 1, x * 3, x - 1)",
        ),
        "no input was found that reaches both sides of line",
    ),
    "the first side of an expression, which no input takes": (
        Edit(
            program(
                "y = self.lin(x)\ny = y[0] if isinstance(y, tuple) else y\nreturn y / len(x)",
                init="self.lin = torch.nn.Linear(8, 8)",
            ),
            "        y = y[0] if isinstance(y, tuple) else y\n        return y / len(x)",
            "        return y / x.size(0)",
        ),
        "no input was found that reaches both sides of line",
    ),
    "a branch that no input takes": (
        Edit(
            program("if (x.sum() - 1e9).abs() < 1:\n    return x * 2\nreturn x - 1"),
            "if (x.sum() - 1e9).abs() < 1:\n            return x * 2\n        return x - 1",
            "return torch.where((x.sum() - 1e9).abs() < 1, x * 3, x - 1)",
        ),
        "no input was found that reaches line",
    ),
    "a condition that is never false": (
        Edit(
            program("if x.dim() < 9:\n    x = x * 2\nreturn x"),
            "if x.dim() < 9:\n            x = x * 2",
            "x = x * 2",
        ),
        "no input was found that reaches what follows if the condition in line 9 is false",
    ),
    "no inputs": (
        Edit(program("return x.no_such_thing() / len(x)"), "len(x)", "x.size(0)"),
        NO_INPUTS,
    ),
    "a result that can't be looked into": (
        Edit(program("y = len(x)\nreturn Box(lambda: x * y)", before=BOX), "len(x)", "x.size(0)"),
        "the target returns an object of type `builtins.function`, which can't be compared",
    ),
    "a result that C code keeps": (
        Edit(program("y = len(x)\nreturn Box(map(len, [y]))", before=BOX), "len(x)", "x.size(0)"),
        "the target returns an object of type `builtins.map`, which can't be compared",
    ),
}
