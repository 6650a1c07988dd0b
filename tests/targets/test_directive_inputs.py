"""Inputs that a directive above a class specifies."""

from fx_lsp.targets import find_targets

FILE = """\
import torch
from torch import nn
from torch.fx import symbolic_trace


# fx: inputs(x=torch.rand(2, 5))
class Net(nn.Module):
    def forward(self, x):
        return x / len(x)


symbolic_trace(Net(), {"x": 1})
"""


def test_they_are_used_where_the_file_traces_the_class() -> None:
    (target,) = find_targets("/m.py", FILE) or ()
    assert target.recipe.inputs is not None
    assert target.recipe.inputs.source == "(x=torch.rand(2, 5))"
    assert target.recipe.concrete_args is not None
    assert target.recipe.concrete_args.source == '{"x": 1}'
