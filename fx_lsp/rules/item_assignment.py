"""Items of a traced value can't be set."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """That ``expression`` is written to, and what to do instead."""
    reason = "is set or deleted in place, which cannot be recorded on a traced value."
    advice = "Make a new value: `x = x.masked_fill(mask, v)`, `torch.where(mask, v, x)` or `x.index_put((i,), v)`."
    if failure.subject == "argument":
        advice = 'Say what it holds when tracing, `concrete_args={"features": {"c5": PH}}` with `torch.fx.PH`.'
    return f"{subject(expression)} {reason} {advice}"


RULE = Rule(
    code="item-assignment",
    title="An item of a traced value is set in place",
    why="""\
Python has no way for `x[i] = v` to return what was recorded, so symbolic tracing does not support it; `del x[i]` and
`x[i] += v` end in the same place.

- By a mask: `x = x.masked_fill(mask, v)`, or `x = torch.where(mask, other, x)`.
- At some positions: `x = x.index_put((positions,), values)`, `x.scatter(dim, index, source)`.
- In a dict or a list that is an input: say what it holds, `concrete_args={"features": {"c5": PH}}` with `torch.fx.PH`.
- A slice: `x = torch.cat([new, x[:, n:]], dim=1)`, or `torch.slice_scatter(x, new, dim, start, end)`.""",
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
    message=message,
    kinds=("item-assignment",),
    fixes=("masked", "helper"),
)
