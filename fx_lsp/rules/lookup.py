"""A traced value is in no set and no dict."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """What the look-up finds, and what to do instead."""
    return (
        f"{subject(expression)} finds nothing while tracing, whatever the real value is, so the graph has what follows "
        "from that. Move the look-up into a function recorded with `torch.fx.wrap`, or decide by something that "
        "is known while tracing."
    )


RULE = Rule(
    code="lookup",
    title="A look-up that never finds a traced value",
    why="""\
A set or a dict finds a value by its hash, and a traced value has one of its own, which equals no number's, no dtype's
and no device's. So `x.dtype in {torch.float16}` is false and `table.get(x.shape[0])` finds nothing, whatever the
input is, and the graph has what follows from that.

- Decide by something that is known while tracing: an attribute that `__init__` sets, or an argument in
  `concrete_args`.
- Move the look-up into a function at module level and record its call with `torch.fx.wrap("its_name")`.""",
    bad="""\
import torch
import torch.fx

HALVES = {torch.float16, torch.bfloat16}


def widen(x):
    if x.dtype in HALVES:
        x = x.float()
    return x + 1


traced = torch.fx.symbolic_trace(widen)
""",
    good="""\
import torch
import torch.fx

HALVES = {torch.float16, torch.bfloat16}


@torch.fx.wrap
def to_single(x):
    return x.float() if x.dtype in HALVES else x


def widen(x):
    return to_single(x) + 1


traced = torch.fx.symbolic_trace(widen)
""",
    message=message,
    kinds=("lookup",),
    severity="warning",
    is_notice=True,
)
