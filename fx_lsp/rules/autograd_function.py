"""A custom backward is lost."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """Whose backward is lost."""
    return (
        f"{subject(expression)} is traced through, so the graph does not have the `backward` of `{failure.error}`. "
        "Move the call into a function recorded with `torch.fx.wrap`."
    )


RULE = Rule(
    code="autograd-function",
    title="A custom autograd function is traced through",
    why="""\
`apply` of a `torch.autograd.Function` runs its `forward` while tracing, and the graph has the operations that
`forward` does. Its `backward` is not in the graph: gradients are those of the operations.

- Record the call as one: move it into a function at module level and name that in `torch.fx.wrap("its_name")`.
- The graph is for inference alone: nothing to do.""",
    bad="""\
import torch
import torch.fx


class RoundedThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def quantize(x):
    return RoundedThrough.apply(x)


traced = torch.fx.symbolic_trace(quantize)
""",
    good="""\
import torch
import torch.fx


class RoundedThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


@torch.fx.wrap
def rounded(x):
    return RoundedThrough.apply(x)


def quantize(x):
    return rounded(x)


traced = torch.fx.symbolic_trace(quantize)
""",
    message=message,
    kinds=("autograd-function",),
    severity="warning",
    is_notice=True,
)
