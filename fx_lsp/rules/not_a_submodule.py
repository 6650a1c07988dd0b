"""A module that the traced one doesn't have."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, remark, subject


def message(failure: Failure, expression: str) -> str:
    """That ``expression`` calls a module which isn't registered, and where to register it."""
    return (
        f"{subject(expression)} calls a module that is not registered in the module being traced. Build it in "
        f"`__init__` and keep it as an attribute, in an `nn.ModuleList` or in an `nn.ModuleDict`.{remark(failure)}"
    )


RULE = Rule(
    code="not-a-submodule",
    title="A module that is not registered is called",
    why="""\
A graph names a module by its path below the traced one, such as `layers.0.attention`. A module has none if it is built
in `forward`, if it is kept in a plain list, tuple or dict, or if what is traced is a function rather than a module.

- Build it in `__init__` and assign it to an attribute: `self.act = nn.ReLU()`.
- Keep several in `nn.ModuleList`, `nn.ModuleDict` or `nn.Sequential` instead of a plain list or dict.
- For one without parameters there is a function: `torch.relu(x)`, `torch.nn.functional.gelu(x)`.
- A function that calls modules becomes a module that has them.""",
    bad="""\
import torch.fx
from torch import nn


class Gate(nn.Module):
    def forward(self, x):
        return nn.ReLU()(x)


traced = torch.fx.symbolic_trace(Gate())
""",
    good="""\
import torch.fx
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(x)


traced = torch.fx.symbolic_trace(Gate())
""",
    message=message,
    kinds=("not-a-submodule",),
    fixes=("module", "wrap"),
)
