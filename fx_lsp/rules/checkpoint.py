"""``torch.utils.checkpoint`` adds no node to the graph."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="checkpoint",
    title="Checkpointing is not recorded",
    why="""\
While tracing, `torch.utils.checkpoint.checkpoint` calls its function, and the graph contains the operations of that
function. Values and gradients are the same, but training with the graph keeps all intermediate values in memory.

- Apply checkpointing to the graph, or to parts of it that you split off.
- Record the checkpointed module as one call: trace with a `Tracer` whose `is_leaf_module` returns true for that
  module.""",
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
    text=(
        "{subject} is recorded without checkpointing: the graph contains only the operations of the checkpointed code, "
        "so training with the graph keeps all intermediate values in memory. Apply checkpointing to the graph instead."
    ),
    kinds=("checkpoint",),
    severity="hint",
    is_notice=True,
    default_on=False,
)
