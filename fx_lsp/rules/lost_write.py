"""An in-place write that other code may not see when the graph runs."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """What is recorded instead of the write, and what to do."""
    if failure.error.endswith("_"):
        reason = "writes in place, but nothing uses its return value, so `eliminate_dead_code` may remove the write"
    else:
        reason = "is recorded as creating a new value, so other references to the old value do not see the write"
    return f"{subject(expression)} {reason}. Compute a new value without writing in place, and use that."


RULE = Rule(
    code="lost-write",
    title="An in-place write that other code does not see",
    why="""\
Symbolic tracing records `y += x` as an addition that creates a new value, not as an in-place write. Unlike in the
program, other references to `y`, and the tensor that `y` is a view of, keep the old value. A method such as `fill_` is
recorded and does write when the graph runs, but if nothing uses its return value, `eliminate_dead_code` may remove the
call.

- Compute a new value, and use that: `x = torch.where(mask, value, x)`, `x = x.masked_fill(mask, value)`.
- Use the return value of the method: `x = x.clamp_(min=0)`.""",
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
    text=message,
    kinds=("lost-write",),
    severity="information",
    is_notice=True,
)
