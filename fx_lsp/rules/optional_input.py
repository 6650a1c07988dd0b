"""A traced input is never None."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """Which input it is, and how to leave it out."""
    name = failure.error
    return (
        f"{subject(expression)} is tested, but the input `{name}` is a traced value, which is never `None`, so the "
        f'graph needs it to be passed. To trace without it give `concrete_args={{"{name}": None}}`.'
    )


RULE = Rule(
    code="optional-input",
    title="An optional input is never None while tracing",
    why="""\
Every input is a traced value unless `concrete_args` gives it, also one whose default is `None`. A traced value is not
`None`, so the graph has the branch in which the input was passed, and fails or computes something else when it is
called without it.

- The input is not used with this graph: `torch.fx.symbolic_trace(module, concrete_args={"mask": None})`.
- It is used: nothing to do, as long as the graph is always called with it. Give it no default to make that plain.""",
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
    message=message,
    kinds=("optional-input",),
    severity="information",
    is_notice=True,
)
