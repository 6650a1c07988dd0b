"""Items of a traced value cannot be assigned."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, input_name, subject, with_items


def message(failure: Failure, expression: str) -> str:
    """Why ``expression`` cannot be recorded, and what to write instead."""
    reason = "is assigned to or deleted; such an in-place change to a traced value cannot be recorded."
    advice = "Create a new value: `x = x.masked_fill(mask, v)`, `torch.where(mask, v, x)` or `x.index_put((i,), v)`."
    if failure.subject == "argument":
        listed = with_items(input_name(expression.partition("[")[0], "features"), '{"a": PH, "b": PH}')
        advice = (
            f"List the items of the input in {listed}. The input is then an ordinary dict or list of traced values."
        )
    return f"{subject(expression)} {reason} {advice}"


RULE = Rule(
    code="item-assignment",
    title="An item of a traced value is assigned in place",
    why="""\
In Python, `x[i] = v` has no result that symbolic tracing could record as a new value, so it is not supported. The same
applies to `del x[i]` and `x[i] += v`.

- With a mask: `x = x.masked_fill(mask, v)`, or `x = torch.where(mask, other, x)`.
- At some positions: `x = x.index_put((positions,), values)`, or `x = x.scatter(dim, index, source)`.
- In a dict or a list that is an input: list its items in `concrete_args={"features": {"c5": PH}}`, where `PH` is
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
