"""``torch.no_grad`` adds no node to the graph."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="grad-mode",
    title="A gradient mode is not recorded",
    why="""\
`with torch.no_grad()` and the like (`enable_grad`, `set_grad_enabled`, `inference_mode`) change the state of the
process, and no node of the graph records that. The graph computes the same values, but gradients flow through the
block.

- Detach the value, which is recorded: `x.detach()`.
- Call the graph inside such a `with` block.""",
    bad="""\
import torch
import torch.fx


def centred(x):
    with torch.no_grad():
        mean = x.mean()
    return x - mean


traced = torch.fx.symbolic_trace(centred)
""",
    good="""\
import torch.fx


def centred(x):
    return x - x.mean().detach()


traced = torch.fx.symbolic_trace(centred)
""",
    text=(
        "{subject} changes the gradient mode, which is not recorded, so this part of the graph runs in whatever mode "
        "is active when the graph is called. To stop gradients, use `detach()`, which is recorded."
    ),
    kinds=("grad-mode",),
    severity="hint",
    is_notice=True,
    default_on=False,
)
