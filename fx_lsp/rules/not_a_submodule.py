"""A module that is not registered in the traced module."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, in_function, remark, subject

_IN_FUNCTION = (
    "calls a module, but a traced function has no submodules. Make the function the `forward` of an `nn.Module` that "
    "builds the module in `__init__`."
)


def message(failure: Failure, expression: str) -> str:
    """Why the graph cannot name the module, and where to build it."""
    if in_function(failure):
        return f"{subject(expression)} {_IN_FUNCTION}"
    return (
        f"{subject(expression)} calls a module that is not registered in the module being traced. Build it in "
        "`__init__` and keep it as an attribute, in an `nn.ModuleList` or in an `nn.ModuleDict`."
        f"{remark(failure)}"
    )


RULE = Rule(
    code="not-a-submodule",
    title="Call to a module that is not registered",
    why="""\
A graph names a module by its path in the traced module, such as `layers.0.attention`. A module has no such path if it
is built in `forward`, if it is kept in a plain list, tuple or dict, or if a function rather than a module is traced.

- Build the module in `__init__` and assign it to an attribute: `self.act = nn.ReLU()`.
- Keep several modules in an `nn.ModuleList`, `nn.ModuleDict` or `nn.Sequential` instead of a plain list or dict.
- If the module has no parameters, call a function instead: `torch.relu(x)`, `torch.nn.functional.gelu(x)`.
- If a function calls modules, turn it into a module that has them as submodules.""",
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
    text=message,
    kinds=("not-a-submodule",),
    fixes=("register_module", "functional_form", "wrap_call"),
)
