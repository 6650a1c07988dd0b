"""A parameter that the traced module doesn't have."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, remark, subject


def message(failure: Failure, expression: str) -> str:
    """That ``expression`` uses a parameter which isn't registered, and where to register it."""
    return (
        f"{subject(expression)} uses a parameter that is not registered in the module being traced. Make it in "
        f"`__init__` and keep it as an attribute or in an `nn.ParameterList`.{remark(failure)}"
    )


RULE = Rule(
    code="not-a-parameter",
    title="A parameter that is not registered is used",
    why="""\
A graph names a parameter by its path below the traced module, such as `head.weight`. A parameter has none if it is made
in `forward`, if it is kept in a plain list or dict, if it belongs to another module, or if what is traced is a
function.

- Make it in `__init__` and assign it to an attribute: `self.scale = nn.Parameter(torch.ones(4))`.
- Keep several in `nn.ParameterList` or `nn.ParameterDict`.
- A tensor that is not learned need not be a parameter: a plain tensor becomes a constant of the graph.""",
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
    message=message,
    kinds=("not-a-parameter",),
    fixes=("wrap",),
)
