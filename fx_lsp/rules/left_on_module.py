"""The module keeps a traced value after tracing."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """What is left where, and what to do instead; ``failure.error`` is the attribute's name."""
    if expression.endswith(f".{failure.error}"):
        left = f"`{expression}` still holds a traced value after tracing"
    else:
        left = f"{subject(expression)} leaves a traced value in the module's attribute `{failure.error}`"
    return (
        f"{left}, so the next call to the module may use it as if it were a tensor. Running the graph does not set the "
        "attribute. Return the value instead."
    )


RULE = Rule(
    code="left-on-module",
    title="A traced value is left on the module",
    why="""\
A value that `forward` stores on the module during tracing stays there: after tracing, the module itself, not the graph,
holds a traced value. The next call to the module may use that value as if it were a tensor. The graph does not store
anything on the module.

- Return the value that you want to keep, and store it outside the traced module.
- For a cache: fill it in `__init__`.""",
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
    text=message,
    kinds=("left-on-module",),
    severity="warning",
    is_notice=True,
)
