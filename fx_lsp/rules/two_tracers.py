"""Values of two traces in one operation."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """That ``expression`` has values of two traces, and where they come from."""
    return (
        f"{subject(expression)} mixes values of two tracings. Look for a value that an earlier tracing left on the "
        "module, or for a trace that is started inside of another."
    )


RULE = Rule(
    code="two-tracers",
    title="Values of two tracings meet",
    why="""\
Each run of symbolic tracing has values of its own, which belong to its graph alone.

- A module that keeps a value in `forward` (`self.cache = x`) still has it when it is traced again: keep no values
  there.
- A function that is traced while another one is: trace it beforehand, and call the result.""",
    bad="""\
import torch
import torch.fx
from torch import nn


class Smooth(nn.Module):
    last = None

    def forward(self, x):
        out = x if self.last is None else torch.lerp(self.last, x, 0.5)
        self.last = out
        return out


smooth = Smooth()
first = torch.fx.symbolic_trace(smooth)
second = torch.fx.symbolic_trace(smooth)
""",
    good="""\
import torch
import torch.fx
from torch import nn


class Smooth(nn.Module):
    def forward(self, x, last):
        return torch.lerp(last, x, 0.5)


smooth = Smooth()
first = torch.fx.symbolic_trace(smooth)
second = torch.fx.symbolic_trace(smooth)
""",
    message=message,
    kinds=("two-tracers",),
)
