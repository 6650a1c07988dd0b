"""A write in place that the graph does otherwise."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """What is recorded in place of the write."""
    if failure.error.endswith("_"):
        reason = "writes in place and nobody uses what it returns, so `eliminate_dead_code` may drop the write"
    else:
        reason = "is recorded as making a new value, so what else holds the old one does not see the write"
    return f"{subject(expression)} {reason}. Compute a new value and use that."


RULE = Rule(
    code="lost-write",
    title="A write in place that others do not see",
    why="""\
A graph has no writes in place of its own. `y += x` is recorded as an addition that makes a new value: what else holds
`y`, or what `y` is a view of, keeps the old one, unlike in the program. A method such as `fill_` is recorded and does
write when the graph runs, but where nobody uses what it returns, `eliminate_dead_code` may drop it.

- Write out of place, and use the result: `x = torch.where(mask, value, x)`, `x = x.masked_fill(mask, value)`.
- Use what the method returns: `x = x.clamp_(min=0)`.""",
    bad="""\
import torch.fx


def shift(x):
    y = x.clone()
    first = y[0]
    first += 1
    return y


traced = torch.fx.symbolic_trace(shift)
""",
    good="""\
import torch
import torch.fx


def shift(x):
    return torch.cat([x[:1] + 1, x[1:]])


traced = torch.fx.symbolic_trace(shift)
""",
    message=message,
    kinds=("lost-write",),
    severity="information",
    is_notice=True,
)
