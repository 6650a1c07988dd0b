"""Values from two traces in one operation."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="two-tracers",
    title="Values from two separate traces are mixed",
    why="""\
Each symbolic trace has its own values, which belong only to its graph.

- If a module stores a value in `forward` (`self.cache = x`), it still has that value when it is traced again. Do not
  store values in `forward`.
- If a function is traced while another trace is running, trace the function beforehand and call the result.""",
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
    text=(
        "{subject} mixes values from two separate traces. Look for a value that an earlier trace left behind, for "
        "example on the module, or for a trace that starts inside another one."
    ),
    kinds=("two-tracers",),
)
