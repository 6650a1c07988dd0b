"""A recorded attribute that tensors don't have."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """What the attribute is called, and what it was meant to be."""
    name, _, meant = failure.error.partition(" ")
    advice = f"Did you mean `{meant}`?" if meant else "Look for a mistyped name."
    return (
        f"{subject(expression)} takes `{name}`, which tensors do not have: it is recorded, and fails when the "
        f"graph runs. {advice}"
    )


RULE = Rule(
    code="unknown-attribute",
    title="An attribute that tensors do not have",
    why="""\
While tracing, any attribute and any method of a traced value is recorded, also one that does not exist, such as a
mistyped `x.shpae`. The trace succeeds, and the graph raises an AttributeError when it runs.

Noticed where the value is surely a tensor, by its annotation or by how it was computed, or where an input's attribute
is all but the name of one that tensors have.""",
    bad="""\
import torch.fx


def flat(x):
    return x.reshpae(-1)


traced = torch.fx.symbolic_trace(flat)
""",
    good="""\
import torch.fx


def flat(x):
    return x.reshape(-1)


traced = torch.fx.symbolic_trace(flat)
""",
    message=message,
    kinds=("unknown-attribute",),
    severity="warning",
    is_notice=True,
)
