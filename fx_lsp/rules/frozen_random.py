"""Random numbers drawn once."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """What was drawn, and what to do instead."""
    return (
        f"{subject(expression)} draws random numbers (`{failure.error}`) once, while tracing, and the graph uses "
        "the same ones in every run. Take the shape from an input (`torch.rand_like(x)`), or pass the numbers as "
        "an input."
    )


RULE = Rule(
    code="frozen-random",
    title="Random numbers are drawn once, while tracing",
    why="""\
A call such as `torch.rand(3)` has no traced value among its arguments, so it runs while tracing, and its result is a
constant: every run of the graph uses the same numbers, or takes the same branch.

- Take the shape from an input: `torch.rand_like(x)`, `torch.rand(x.shape)` are recorded.
- Draw outside of `forward`, and pass the numbers as an input.
- Move the call into a function that takes a traced value, and record it with `torch.fx.wrap("its_name")`.""",
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
    message=message,
    kinds=("frozen-random",),
    severity="warning",
    is_notice=True,
)
