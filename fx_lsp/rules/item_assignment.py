"""Items of a traced value cannot be set."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """Why ``expression`` cannot be recorded, and what to write instead."""
    reason = "is set or deleted in place, which cannot be recorded for a traced value."
    advice = "Create a new value: `x = x.masked_fill(mask, v)`, `torch.where(mask, v, x)` or `x.index_put((i,), v)`."
    if failure.subject == "argument":
        advice = 'Give the items with `concrete_args={"features": {"c5": PH}}`, where `PH` is `torch.fx.PH`.'
    return f"{subject(expression)} {reason} {advice}"


RULE = Rule(
    code="item-assignment",
    title="An item of a traced value is set in place",
    why="""\
In Python, `x[i] = v` has no result that symbolic tracing could record as a new value, so it is not supported. The same
applies to `del x[i]` and `x[i] += v`.

- With a mask: `x = x.masked_fill(mask, v)`, or `x = torch.where(mask, other, x)`.
- At some positions: `x = x.index_put((positions,), values)`, or `x = x.scatter(dim, index, source)`.
- In a dict or a list that is an input: give its items with `concrete_args={"features": {"c5": PH}}`, where `PH` is
  `torch.fx.PH`.
- For a slice: `x = torch.cat([new, x[:, n:]], dim=1)`, or `x = torch.slice_scatter(x, new, dim, start, end)`.""",
    bad="""\
import torch.fx


def mask_padding(ids):
    ids[ids == 7] = 0
    return ids


traced = torch.fx.symbolic_trace(mask_padding)
""",
    good="""\
import torch.fx


def mask_padding(ids):
    return ids.masked_fill(ids == 7, 0)


traced = torch.fx.symbolic_trace(mask_padding)
""",
    text=message,
    kinds=("item-assignment",),
    fixes=("masked_assignment", "move_to_helper"),
)
