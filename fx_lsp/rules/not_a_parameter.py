"""A parameter that is not registered in the traced module."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, in_function, remark, subject

_IN_FUNCTION = (
    "uses an `nn.Parameter`, which a traced function cannot own. Make the function the `forward` of an `nn.Module` "
    "that creates the parameter in `__init__`."
)


def message(failure: Failure, expression: str) -> str:
    """Why the graph cannot name the parameter, and where to create it."""
    if in_function(failure):
        return f"{subject(expression)} {_IN_FUNCTION}"
    return (
        f"{subject(expression)} uses a parameter that is not registered in the module being traced. Create it in "
        f"`__init__` and keep it as an attribute or in an `nn.ParameterList`.{remark(failure)}"
    )


RULE = Rule(
    code="not-a-parameter",
    title="Use of a parameter that is not registered",
    why="""\
A graph names a parameter by its path in the traced module, such as `head.weight`. A parameter has no such path if it is
created in `forward`, if it is kept in a plain list or dict, if it belongs to another module, or if a function rather
than a module is traced.

- Create the parameter in `__init__` and assign it to an attribute: `self.scale = nn.Parameter(torch.ones(4))`.
- Keep several parameters in an `nn.ParameterList` or `nn.ParameterDict`.
- If a function uses parameters, turn it into a module that owns them.
- A tensor that is not learned does not need to be a parameter: a plain tensor becomes a buffer of the graph module.""",
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
    text=message,
    kinds=("not-a-parameter",),
    fixes=("wrap_call",),
)
