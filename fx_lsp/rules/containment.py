"""The contents of a traced value are not known."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, input_name, subject, with_items

_KEYS = '{"key": PH}'


def message(failure: Failure, expression: str) -> str:
    """Why the test cannot be evaluated, and what to do instead."""
    advice = "Compare the whole tensor (`(x == y).any()`), which is recorded"
    if failure.subject == "argument":
        name = input_name(expression.rpartition(" in ")[2], "options")
        advice = f"List the keys in {with_items(name, _KEYS)}"
    elif failure.subject == "shape":
        advice = "Compare the sizes one by one (`x.shape[0] == n`), which is recorded"
    return (
        f"{subject(expression)} searches a traced value, whose contents are not known while tracing. {advice}, or "
        "branch on an attribute that `__init__` sets."
    )


RULE = Rule(
    code="containment",
    title="A membership test on a traced value",
    why="""\
`y in x` needs an answer immediately, but the contents of `x` are not known while tracing.

- For a tensor: use `(x == y).any()`, which is recorded. For a branch that depends on the result, see
  [`control-flow`](control-flow.md).
- For a dict that is an input: list its keys in `concrete_args={"options": {"mask": PH}}`, where `PH` is
  `torch.fx.PH`.
- If the choice is fixed once the module is built: use an attribute that `__init__` sets.""",
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
    text=message,
    kinds=("containment",),
    fixes=("wrap_call", "move_to_helper"),
)
