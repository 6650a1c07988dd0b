"""The graph keeps the mode that it was traced in."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="training-flag",
    title="The graph has only one mode, training or evaluation",
    why="""\
`self.training` is a plain attribute: tracing reads it once, and the graph contains the branch or the argument for the
mode that the module was in. Calling `graph_module.train()` or `graph_module.eval()` does not change that.

- Trace in the mode in which you want to use the graph; for inference, call `module.eval()` first.
- Use modules that check the mode when they run: `nn.Dropout` instead of `F.dropout(x, training=self.training)`.""",
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
    text=(
        "{subject} is read once, while tracing, so the mode that the module was in becomes part of the graph. Trace "
        "in the mode in which you want to use the graph, or use a module that checks its mode when it runs, such as "
        "`nn.Dropout`."
    ),
    kinds=("training-flag",),
    severity="hint",
    is_notice=True,
    default_on=False,
)
