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
Building a module allocates its parameters, and tracing it what `forward` makes itself. Both have a limit, so that a
mistyped size cannot take the machine down while you type.

- A size that is larger than was meant.
- Constants that `forward` makes anew: make them once, in `__init__`, as buffers.
- A model that is really that large: trace it with a smaller configuration, or raise the limit.""",
    bad="""\
import torch
import torch.fx
from torch import nn


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1 << 20, 1 << 22))

    def forward(self, x):
        return x @ self.weight


traced = torch.fx.symbolic_trace(Table())
""",
    good="""\
import torch
import torch.fx
from torch import nn


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1 << 10, 1 << 2))

    def forward(self, x):
        return x @ self.weight


traced = torch.fx.symbolic_trace(Table())
""",
    message=message,
    kinds=("memory-limit",),
    severity="warning",
)
