"""A custom ``backward`` that the graph does not contain."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="autograd-function",
    title="The backward of a custom autograd function is not recorded",
    why="""\
While tracing, the `apply` method of a `torch.autograd.Function` runs its `forward`, and the graph contains the
operations of that `forward`. Its `backward` is not in the graph: the gradients are those of the recorded operations.

- Record the call itself: move it into a module-level function and record the call to that function with
  `torch.fx.wrap("its_name")`.
- If you use the graph only for inference, nothing needs to change.""",
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
    text=(
        "{subject} is recorded as the operations of `{detail}.forward`, so the graph does not contain "
        "`{detail}.backward`. Move the call into a function wrapped with `torch.fx.wrap`."
    ),
    kinds=("autograd-function",),
    severity="warning",
    is_notice=True,
)
