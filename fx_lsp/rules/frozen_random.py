"""Random numbers that are drawn once, while tracing."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="frozen-random",
    title="Random numbers are drawn once, while tracing",
    why="""\
A call such as `torch.rand(3)` has no traced value among its arguments, so it runs while tracing, and its result becomes
a constant: every run of the graph uses the same numbers, or takes the same branch.

- Take the shape from an input: `torch.rand_like(x)` and `torch.rand(x.shape)` are recorded.
- Draw the numbers outside `forward` and pass them as an input.
- Move the call into a module-level function that takes a traced value, and record the call of that function with
  `torch.fx.wrap("its_name")`.""",
    bad="""\
import torch
import torch.fx


def sometimes(x):
    if torch.rand(()).item() < 0.5:
        return x
    return x.relu()


traced = torch.fx.symbolic_trace(sometimes)
""",
    good="""\
import torch
import torch.fx


def sometimes(x):
    return torch.where(torch.rand_like(x) < 0.5, x, x.relu())


traced = torch.fx.symbolic_trace(sometimes)
""",
    text=(
        "{subject} draws random numbers (`{detail}`) once, while tracing, so the graph uses the same numbers in "
        "every run. Take the shape from an input (`torch.rand_like(x)`), or pass the numbers as an input."
    ),
    kinds=("frozen-random",),
    severity="warning",
    is_notice=True,
)
