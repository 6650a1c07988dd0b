"""``torch.no_grad`` leaves no node."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """What the graph does without it."""
    return (
        f"{subject(expression)} is not recorded, so gradients flow through this block of the graph. Use "
        "`detach()`, which is recorded."
    )


RULE = Rule(
    code="grad-mode",
    title="A gradient mode is not recorded",
    why="""\
`with torch.no_grad()` and its like (`enable_grad`, `set_grad_enabled`, `inference_mode`) change a state of the
process, which no node of the graph does. The graph computes the same values, and gradients flow through what is
inside.

- Say it of the value, which is recorded: `x.detach()`.
- Enter the mode around the call of the graph.""",
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
    message=message,
    kinds=("grad-mode",),
    severity="hint",
    is_notice=True,
    default_on=False,
)
