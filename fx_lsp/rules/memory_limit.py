"""The import, the build or the trace asked for too much memory."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, error_text, subject


def message(failure: Failure, expression: str) -> str:
    """What asked for more memory than there is for a trace."""
    return (
        f"{subject(expression)} needs more memory than the limit for tracing allows. Build a smaller module for "
        f"tracing, or raise the limit. ({error_text(failure)})"
    )


RULE = Rule(
    code="memory-limit",
    title="Tracing needs too much memory",
    why="""\
Importing the file, building the module and tracing it have a limit of memory, so that a mistyped size cannot take the
machine down while you type. Weights that `torch.empty`, `torch.randn` and the like make are built without memory, so
they hardly count.

- A size that is larger than was meant.
- Data that is read, or a table that is computed, while the file is imported or the module is built: do that where the
  model is trained or run.
- A model that is really that large: trace it with a smaller configuration, or raise the limit.""",
    bad="""\
import torch
import torch.fx
from torch import nn


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0] * (1 << 40)))

    def forward(self, x):
        return x * self.weight


traced = torch.fx.symbolic_trace(Table())
""",
    good="""\
import torch
import torch.fx
from torch import nn


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0] * (1 << 4)))

    def forward(self, x):
        return x * self.weight


traced = torch.fx.symbolic_trace(Table())
""",
    message=message,
    kinds=("memory-limit",),
    severity="warning",
)
