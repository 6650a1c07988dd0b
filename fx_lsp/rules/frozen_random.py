"""Random numbers that are drawn once, while tracing."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject

_LIKE_AN_INPUT = {
    operator: f"Take the shape from an input with `torch.{operator}_like`, or pass the numbers as an input."
    for operator in ("rand", "randn", "randint")
}


def message(failure: Failure, expression: str) -> str:
    """What the graph does instead of drawing numbers, and what to do; ``failure.error`` is the operator's name."""
    return (
        f"{subject(expression)} draws random numbers once, while tracing, so the graph uses the same numbers in every "
        f"run. {_LIKE_AN_INPUT.get(failure.error, 'Draw the numbers outside `forward` and pass them as an input.')}"
    )


RULE = Rule(
    code="frozen-random",
    title="Random numbers are drawn once, while tracing",
    why="""\
A call such as `torch.rand(3)` has no traced value among its arguments, so it runs while tracing, and its result becomes
a constant: every run of the graph uses the same numbers, or takes the same branch.

- Take the shape from an input: `torch.rand_like(x)` and `torch.rand(x.shape)` are recorded.
- Draw the numbers outside `forward` and pass them as an input.
- Move the call into a module-level function that takes a traced value, and record the call to that function with
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
    text=message,
    kinds=("frozen-random",),
    severity="warning",
    is_notice=True,
)
