"""A parameter that is not registered in the traced module."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="not-a-parameter",
    title="Use of a parameter that is not registered",
    why="""\
A graph names a parameter by its path in the traced module, such as `head.weight`. A parameter has no such path if it is
created in `forward`, if it is kept in a plain list or dict, if it belongs to another module, or if a function rather
than a module is traced.

- Create the parameter in `__init__` and assign it to an attribute: `self.scale = nn.Parameter(torch.ones(4))`.
- Keep several parameters in an `nn.ParameterList` or `nn.ParameterDict`.
- A tensor that is not learned does not need to be a parameter: a plain tensor becomes a constant of the graph.""",
    bad="""\
import torch
import torch.fx
from torch import nn


class Scale(nn.Module):
    def forward(self, x):
        return x * nn.Parameter(torch.ones(4))


traced = torch.fx.symbolic_trace(Scale())
""",
    good="""\
import torch
import torch.fx
from torch import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return x * self.scale


traced = torch.fx.symbolic_trace(Scale())
""",
    text=(
        "{subject} uses a parameter that is not registered in the module being traced. Create it in `__init__` and "
        "keep it as an attribute or in an `nn.ParameterList`.{remark}"
    ),
    kinds=("not-a-parameter",),
    fixes=("wrap_call",),
)
