"""The graph is the one of a mode."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """What is fixed by it."""
    return (
        f"{subject(expression)} is read once, while tracing, so the graph stays in the mode that the module was "
        "in. Trace in the mode that the graph is for, or use a module such as `nn.Dropout`."
    )


RULE = Rule(
    code="training-flag",
    title="The graph is of one mode, training or evaluation",
    why="""\
`self.training` is a plain attribute: tracing reads it once, and the graph has the branch, or the argument, of the
mode that the module was in. `graph_module.train()` and `graph_module.eval()` change nothing about that.

- Trace in the mode that the graph is for: `module.eval()` first.
- Use modules that look at the mode when they run: `nn.Dropout` instead of `F.dropout(x, training=self.training)`.""",
    bad="""\
import torch.fx
from torch import nn


class Noisy(nn.Module):
    def forward(self, x):
        if self.training:
            x = x * 2
        return x + 1


traced = torch.fx.symbolic_trace(Noisy())
""",
    good="""\
import torch.fx
from torch import nn


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout()

    def forward(self, x):
        return self.dropout(x) + 1


traced = torch.fx.symbolic_trace(Noisy())
""",
    message=message,
    kinds=("training-flag",),
    severity="hint",
    is_notice=True,
    default_on=False,
)
