"""A traced value is no tensor to ``isinstance``."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """Which way the check went, and how to ask instead."""
    return (
        f"{subject(expression)} is false while tracing, though it is true of the real value, so the graph has the "
        "other branch. Ask for what is special instead (`isinstance(x, (list, tuple))`), or check outside of `forward`."
    )


RULE = Rule(
    code="type-check",
    title="A type check that is false while tracing",
    why="""\
While tracing, the inputs and all that is computed from them are values that record, not tensors. `isinstance(x,
torch.Tensor)` and `torch.is_tensor(x)` are false of them, so the graph has the branch that is meant for everything
else.

- Check once, where the module is built or before it is called, not in `forward`.
- Ask the other way round, for what is special: `isinstance(x, (list, tuple))` is right while tracing, too.""",
    bad="""\
import torch
import torch.fx


def first(x):
    if isinstance(x, torch.Tensor):
        x = x.relu()
    return x + 1


traced = torch.fx.symbolic_trace(first)
""",
    good="""\
import torch
import torch.fx


def first(x):
    if not isinstance(x, (list, tuple)):
        x = x.relu()
    return x + 1


traced = torch.fx.symbolic_trace(first)
""",
    message=message,
    kinds=("type-check",),
    severity="warning",
    is_notice=True,
)
