"""The module to trace cannot be built."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="build",
    title="The module cannot be built",
    why="""\
Before fx-lsp can trace a module, it has to build the module: the way the workspace does or, if the constructor needs
no arguments, without arguments. Building the module raised an error at the marked place.

- If the constructor contains a mistake, fix it.
- If the constructor needs arguments, build the module with them somewhere in the file, at module level or in a call
  such as `torch.fx.symbolic_trace(Net(channels=3))`.""",
    bad="""\
import torch.fx
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16)

    def forward(self, x):
        return self.linear(x)
""",
    good="""\
import torch.fx
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 4)

    def forward(self, x):
        return self.linear(x)
""",
    text="{subject} fails, so the module cannot be built and was not traced: {error}",
    kinds=("build",),
    severity="warning",
)
