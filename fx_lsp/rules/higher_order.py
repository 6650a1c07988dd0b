"""An operator that takes a function."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """That ``expression`` hands a function to an operator, and what to do instead."""
    return (
        f"{subject(expression)} hands a Python function to an operator, and symbolic tracing cannot look into that. "
        "Call the function itself, or move the call into a function recorded with `torch.fx.wrap`."
    )


RULE = Rule(
    code="higher-order",
    title="An operator that takes a Python function",
    why="""\
Operators under `torch.ops.higher_order` run a function that they are handed. Symbolic tracing records the call of the
operator only, and a Python function can't be an argument of it.

- Call the function itself: what it does is recorded.
- Keep the operator, in a function at module level whose call is recorded with `torch.fx.wrap("its_name")`.""",
    bad="""\
import torch
import torch.fx


def double(x):
    return x + x


def strictly(x):
    return torch.ops.higher_order.strict_mode(double, (x,))


traced = torch.fx.symbolic_trace(strictly)
""",
    good="""\
import torch
import torch.fx


def double(x):
    return x + x


def strictly(x):
    return double(x)


traced = torch.fx.symbolic_trace(strictly)
""",
    message=message,
    kinds=("higher-order",),
    fixes=("wrap", "helper"),
)
