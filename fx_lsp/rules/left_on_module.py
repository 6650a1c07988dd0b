"""The module keeps a traced value."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """Which attribute keeps it, and what comes of that."""
    return (
        f"{subject(expression)} keeps a traced value in `{failure.error}` of the module after tracing, where its next "
        "call may take it for a tensor; the graph stores nothing. Return it instead."
    )


RULE = Rule(
    code="left-on-module",
    title="A traced value is left on the module",
    why="""\
What `forward` stores on the module while it is traced stays there: the module itself, not the graph, then holds a
value that only records. Its next call may take it for a tensor, and the graph does not store anything.

- Return what is to be kept, and store it outside of the traced module.
- For a cache: fill it in `__init__`, or leave it out while `torch.fx` traces.""",
    bad="""\
import torch.fx
from torch import nn


class Attention(nn.Module):
    def forward(self, scores):
        self.weights = scores.softmax(-1)
        return self.weights * scores


traced = torch.fx.symbolic_trace(Attention())
""",
    good="""\
import torch.fx
from torch import nn


class Attention(nn.Module):
    def forward(self, scores):
        weights = scores.softmax(-1)
        return weights * scores, weights


traced = torch.fx.symbolic_trace(Attention())
""",
    message=message,
    kinds=("left-on-module",),
    severity="warning",
    is_notice=True,
)
