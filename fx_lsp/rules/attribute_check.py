"""A traced value has every attribute."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """Which attribute was found that tensors don't have."""
    return (
        f"{subject(expression)} finds `{failure.error}` while tracing, since a traced value has every attribute, and "
        "tensors do not have it. Pass what may be missing as an argument of its own, or decide by an attribute that "
        "`__init__` sets."
    )


RULE = Rule(
    code="attribute-check",
    title="An attribute check that is always true while tracing",
    why="""\
While tracing, a value that stands for a tensor answers every attribute with a value that is recorded, whatever its
name. So `hasattr(x, "mask")` is true and `getattr(x, "mask", None)` finds something, also where tensors have no such
attribute, and the graph reads an attribute that is not there when it runs.

- Pass what may be missing as an argument of its own.
- Decide by an attribute of the module, which `__init__` sets.""",
    bad="""\
import torch.fx


def pool(x):
    if hasattr(x, "mask"):
        return (x * x.scale).sum()
    return x.sum()


traced = torch.fx.symbolic_trace(pool)
""",
    good="""\
import torch.fx


def pool(x, scale):
    return (x * scale).sum()


traced = torch.fx.symbolic_trace(pool)
""",
    message=message,
    kinds=("attribute-check",),
    severity="warning",
    is_notice=True,
)
