"""A traced input is never None."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="optional-input",
    title="An optional input is never None while tracing",
    why="""\
Every input that `concrete_args` does not fix is a traced value, even one whose default is `None`. A traced value is
never `None`, so the graph contains the branch for a call that passes the input. If the graph is called without the
input, it fails or computes something else.

- If you do not use the input with this graph: `torch.fx.symbolic_trace(module, concrete_args={"mask": None})`.
- If you always call the graph with the input, nothing needs to change. Remove its default to make that clear.""",
    bad="""\
import torch.fx
from torch import nn


class Attention(nn.Module):
    def forward(self, scores, mask=None):
        if mask is not None:
            scores = scores + mask
        return scores.softmax(-1)


traced = torch.fx.symbolic_trace(Attention())
""",
    good="""\
import torch.fx
from torch import nn


class Attention(nn.Module):
    def forward(self, scores, mask=None):
        if mask is not None:
            scores = scores + mask
        return scores.softmax(-1)


traced = torch.fx.symbolic_trace(Attention(), concrete_args={"mask": None})
""",
    text=(
        "`{detail}` is a traced value and never `None` while tracing, so the graph requires this input. To trace "
        'without it, pass `concrete_args={{"{detail}": None}}`.'
    ),
    kinds=("optional-input",),
    severity="information",
    is_notice=True,
)
