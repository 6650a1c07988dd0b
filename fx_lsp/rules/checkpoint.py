"""``torch.utils.checkpoint`` leaves no node."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """What the graph does without it."""
    return (
        f"{subject(expression)} is traced through, so training with the graph keeps what is computed inside in memory. "
        "Apply checkpointing to the graph instead."
    )


RULE = Rule(
    code="checkpoint",
    title="Checkpointing is not recorded",
    why="""\
`torch.utils.checkpoint.checkpoint` calls its function while tracing, and the graph has what that does. Values and
gradients are the same, but training with the graph keeps all that is computed inside in memory.

- Apply checkpointing to the graph, or to parts of it that were split off.
- Leave the module that is checkpointed out of the trace: a `Tracer` whose `is_leaf_module` says so.""",
    bad="""\
import torch
import torch.fx
from torch.utils.checkpoint import checkpoint


def block(x):
    return checkpoint(torch.relu, x, use_reentrant=False)


traced = torch.fx.symbolic_trace(block)
""",
    good="""\
import torch
import torch.fx


def block(x):
    return torch.relu(x)


traced = torch.fx.symbolic_trace(block)
""",
    message=message,
    kinds=("checkpoint",),
    severity="hint",
    is_notice=True,
    default_on=False,
)
