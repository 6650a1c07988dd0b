"""The module to trace can't be built."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, error_text, subject


def message(failure: Failure, expression: str) -> str:
    """The error that building the module ended in."""
    return f"{subject(expression)} fails, so the module cannot be built and was not traced: {error_text(failure)}"


RULE = Rule(
    code="build",
    title="The module cannot be built",
    why="""\
Before a module can be traced it has to be built, as the file itself builds it, or without arguments where its
constructor needs none. That raised an error at the marked place.

- The error is a mistake in the constructor: mend it.
- The constructor needs arguments after all: build the module where the file has them, at module level or in a call such
  as `torch.fx.symbolic_trace(Net(channels=3))`.""",
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
    message=message,
    kinds=("build",),
    severity="warning",
)
