"""What is in a traced value isn't known."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """What ``expression`` looks for, and what to do instead."""
    advice = "Compare the whole tensor, `(x == y).any()`, which is recorded"
    if failure.subject == "argument":
        advice = "Say what it holds when tracing, with `concrete_args`"
    elif failure.subject == "shape":
        advice = "Compare one size after another, `x.shape[0] == n`, which is recorded"
    return (
        f"{subject(expression)} looks into a traced value, and what that holds is not known while tracing. {advice}, "
        "or decide by an attribute that `__init__` sets."
    )


RULE = Rule(
    code="containment",
    title="A search in a traced value",
    why="""\
`y in x` needs a yes or no at once, and while tracing nobody knows what `x` holds.

- In a tensor: `(x == y).any()` is recorded; what hangs on it is a matter of [`control-flow`](control-flow.md).
- In a dict that is an input: say which keys it has, `concrete_args={"options": {"mask": PH}}` with `torch.fx.PH`.
- A choice that is fixed once the module is built: an attribute that `__init__` sets.""",
    bad="""\
import torch.fx


def has_padding(ids):
    return 0 in ids


traced = torch.fx.symbolic_trace(has_padding)
""",
    good="""\
import torch.fx


def has_padding(ids):
    return (ids == 0).any()


traced = torch.fx.symbolic_trace(has_padding)
""",
    message=message,
    kinds=("containment",),
    fixes=("wrap", "helper"),
)
