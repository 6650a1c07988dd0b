"""Which of a file's calls are examples of the inputs of its targets."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from fx_lsp.documents.parse import parsed
from fx_lsp.targets import find_targets

BEFORE = """\
import torch
import torch.fx
from torch import nn
from elsewhere import Other

class Net(nn.Module):
    def __init__(self, n=3):
        super().__init__()
        self.n = n
    def forward(self, x, mask=None):
        return x + self.n

def double(x):
    return x * 2

"""


def inputs(text: str) -> list[str | None]:
    """What is given to each target, in the order of the text; that of the class itself is left out."""
    targets = find_targets("/w/file.py", BEFORE + dedent(text))
    assert targets is not None
    snippets = [target.recipe.inputs for target in targets if target.key != "class:Net"]
    return [snippet.source if snippet else None for snippet in snippets]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("net = Net(5)\nnet(torch.ones(2))", "(torch.ones(2))"),
        ("net = Net(5)\nnet.forward(torch.ones(2))", "(torch.ones(2))"),
        ("net = Net(5).eval()\nnet(torch.ones(2), mask=None)", "(torch.ones(2), mask=None)"),
        ("net = Net(5)\nnet.eval()\ndef test():\n    net(torch.ones(2))", "(torch.ones(2))"),
        ("net = Net(5)\nNet(5)(torch.ones(2))", "(torch.ones(2))"),
        ("net = Net(5)\nn = 2\nx = torch.ones(n, 3 * n, dtype=torch.long)\nnet(x)",
         "(torch.ones(2, 3 * 2, dtype=torch.long))"),
        ("net = Net(5)\nx = torch.ones(2)\ny = x.unsqueeze(0)\nnet((y, [x]))",
         "((torch.ones(2).unsqueeze(0), [torch.ones(2)]))"),
        ("torch.fx.symbolic_trace(double)\ndouble(torch.ones(2))", "(torch.ones(2))"),
        ("traced = torch.fx.symbolic_trace(Net(5))\ntraced(torch.ones(2))", "(torch.ones(2))"),
        ("torch.fx.symbolic_trace(Other(5))\nOther(5)(torch.ones(2))", "(torch.ones(2))"),
        ("def main():\n    net = Net(7)\n    net(torch.ones(2))\n    torch.fx.symbolic_trace(net)", "(torch.ones(2))"),
        ("def main():\n    n = 4\n    net = Net(n)\n    torch.fx.symbolic_trace(net)\n    net(torch.ones(2))",
         "(torch.ones(2))"),
        ("net = Net(5)\nnet(torch.ones(2))\nnet(torch.ones(3))", "(torch.ones(2))"),
        ("net = Net(5)\ntorch.export.export(net, (torch.ones(2), None))", "(torch.ones(2), None)"),
        ("net = Net(5)\nn, m = 2, 3\nnet(torch.ones(n, m))", "(torch.ones(2, 3))"),
        ("net = Net(5)\nnet(torch.ones(2).to(torch.device('cuda' if Other() else 'cpu')).flatten())",
         "(torch.ones(2).flatten())"),
        ("net = Net(5)\nnet(torch.ones(2, device=Other().device), torch.LongTensor([1, 2]))",
         "(torch.ones(2), torch.LongTensor([1, 2]))"),
        ("net = Net(5)\nnet(torch.ones(2).to(torch.float16))", "(torch.ones(2).to(torch.float16))"),
        ("net = Net(5)\nx = torch.ones(2)\ntorch.onnx.export(net, (x,), 'net.onnx')", "(torch.ones(2))"),
        ("net = Net(5)\nx = torch.ones(2)\ntorch.onnx.export(net, x, 'net.onnx')", "(torch.ones(2))"),
        ("net = Net(5)\ngiven = (torch.ones(2),)\ntorch.jit.trace(net, example_inputs=given)", "(torch.ones(2))"),
        ("net = Net(5)\ntorch.export.export(net, args=(torch.ones(2),), kwargs={'mask': None})",
         "(torch.ones(2), mask=None)"),
        ("net = Net(5)\ntorch.export.export(net, (), {'x': torch.ones(2)})", "(x=torch.ones(2))"),
        ("net = Net(5)\nargs, batch = [torch.ones(2)], {'mask': None}\nnet(*args, **batch)",
         "(torch.ones(2), mask=None)"),
        ("net = Net(5)\ntorch.compile(net, fullgraph=True)(torch.ones(2))", "(torch.ones(2))"),
        ("net = Net(5)\nfast = torch.compile(net)\nfast(torch.ones(2))", "(torch.ones(2))"),
        ("net = Net(5)\nnet(torch.tensor([float('nan'), 1.0]), dict(a=list(range(2))))",
         "(torch.tensor([float('nan'), 1.0]), dict(a=list(range(2))))"),
        ("net = Net(5)\nnet(torch.stack([torch.eye(2), torch.nn.functional.one_hot(torch.arange(2))]))",
         "(torch.stack([torch.eye(2), torch.nn.functional.one_hot(torch.arange(2))]))"),
        ("import numpy as np\nnet = Net(5)\nnet(torch.from_numpy(np.zeros((2, 3), dtype=np.float32)))",
         "(torch.from_numpy(numpy.zeros((2, 3), dtype=numpy.float32)))"),
        ("import torch.nn.functional as F\nnet = Net(5)\nnet(F.pad(torch.ones(2), (1, 1)))",
         "(torch.nn.functional.pad(torch.ones(2), (1, 1)))"),
        ("net = Net(5)\nx = torch.ones(2)\ntorch.jit.trace(net, [x, None])", "(torch.ones(2), None)"),
        ("net = Net(5)\ntorch.jit.trace(net, None, example_kwarg_inputs={'x': torch.ones(2)})", "(x=torch.ones(2))"),
        ("net = Net(5)\ntorch.onnx.export(net, (torch.ones(2), {'mask': None}))", "(torch.ones(2), mask=None)"),
    ],
)  # fmt: skip
def test_a_call_of_the_same_thing_is_an_example(text: str, found: str) -> None:
    assert inputs(text) == [found]


@pytest.mark.parametrize(
    "text",
    [
        "net = Net(5)\nNet(6)(torch.ones(2))",
        "net = Net(5)\nnet(3)",
        "net = Net(5)\nnet(load(torch.ones(2)))",
        "net = Net(5)\nnet(*torch.ones(2))",
        "net = Net(5)\nnet(torch.load('x.pt'))",
        "net = Net(5)\nnet(torch.initial_seed())",
        "net = Net(5)\nbatch = {'x': torch.ones(2)}\nbatch['mask'] = None\nnet(**batch)",
        "net = Net(5)\nbatch = {'x': torch.ones(2)}\nbatch.update(mask=None)\nnet(**batch)",
        "net = Net(5)\nargs = [torch.ones(2)]\nargs.append(None)\nnet(*args)",
        "net = Net(5)\ntorch.export.export(net, tuple([torch.ones(2)]))",
        "net = Net(5)\nnet(**{'not a name': torch.ones(2)})",
        "net = Net(5)\nnet(x=torch.ones(2), **{'x': torch.ones(2)})",
        "net = Net(5)\n[net(torch.ones(2), int(3)) for int in range(2)]",
        "net = Net(5)\nnet(torch.ones(2), np.load('x.npy'))",
        "float = load\nnet = Net(5)\nnet(torch.ones(2), float(3))",
        "net = Net(5)\ntorch.export.export(net, (torch.ones(2),), {**kwargs})",
        "net = Net(5)\nnet(**{'x': torch.ones(2), **Other()})",
        "net = Net(5)\ndef test(net):\n    net(torch.ones(2))",
        "net = Net(5)\nnet = Net(6)\ndef test():\n    net(torch.ones(2))",
        "net = Net(5)\nif torch.cuda.is_available():\n    x = torch.ones(2)\nelse:\n    x = torch.ones(3)\nnet(x)",
        "net = Net(5)\nfor x in [torch.ones(2)]:\n    net(x)",
        "net = Net(5)\nwith pytest.raises(ValueError):\n    net(torch.ones(2))",
        "net = Net(5)\nx = torch.ones(2) if net else torch.ones(3)\nnet(x)",
        "def one():\n    net = Net(7)\n    torch.fx.symbolic_trace(net)\ndef other(net):\n    net(torch.ones(2))",
        "def a():\n    n = 3\n    torch.fx.symbolic_trace(Net(n))\ndef b():\n    n = 4\n    Net(n)(torch.ones(2))",
    ],
)
def test_an_uncertain_call_is_not_an_example(text: str) -> None:
    assert inputs(text) == [None]


def test_a_class_has_the_inputs_of_an_instance_made_alike() -> None:
    targets = find_targets("/w/file.py", f"{BEFORE}def main():\n    net = Net()\n    net(torch.ones(2))\n")
    assert targets is not None
    (target,) = targets
    assert target.recipe.inputs is not None
    assert (target.recipe.inputs.source, target.recipe.inputs.line) == ("(torch.ones(2))", 18)


def test_looking_for_examples_leaves_the_tree_of_the_file_as_it_is() -> None:
    text = f"{BEFORE}net, n = Net(5), 3\nnet(torch.ones(2, 3).unsqueeze(0).long())\n"
    assert find_targets("/w/file.py", text) == find_targets("/w/file.py", text)
    tree = parsed(text)
    assert tree is not None
    assert ast.dump(tree, include_attributes=True) == ast.dump(ast.parse(text), include_attributes=True)
