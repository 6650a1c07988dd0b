"""A recorded attribute that tensors do not have."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """Which attribute does not exist, and which one was probably meant."""
    name, _, meant = failure.error.partition(" ")
    advice = f"Did you mean `{meant}`?" if meant else "Check the spelling."
    return (
        f"{subject(expression)} reads `{name}`, which tensors do not have. Tracing records it, but the graph "
        f"fails when it runs. {advice}"
    )


RULE = Rule(
    code="unknown-attribute",
    title="An attribute that tensors do not have",
    why="""\
While tracing, every attribute and method of a traced value is recorded, even one that does not exist, such as a
misspelled `x.shpae`. The trace succeeds, but the graph raises an `AttributeError` when it runs.

fx-lsp reports this if the annotation of the value, or the way it was computed, shows that it is a tensor. It also
reports an attribute of an input if the name of the attribute is similar to that of an attribute that tensors have.""",
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
    text=message,
    kinds=("unknown-attribute",),
    severity="warning",
    is_notice=True,
)
