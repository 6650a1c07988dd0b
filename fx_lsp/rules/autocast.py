"""``torch.autocast`` leaves no node."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """What the graph does without it."""
    return (
        f"{subject(expression)} is not recorded, so the graph runs this block in whatever precision is in force "
        "where it is called. Convert explicitly (`x.float()`), or move the block into a function recorded with "
        "`torch.fx.wrap`."
    )


RULE = Rule(
    code="autocast",
    title="Autocast is not recorded",
    why="""\
`with torch.autocast(...)` changes a state of the process, which no node of the graph does. What is inside runs, in
the graph, in whatever precision is in force where the graph is called; `enabled=False` around numerically delicate
operations is lost, too.

- Convert explicitly, which is recorded: `x = x.float()`.
- Move the block into a function at module level and record its call with `torch.fx.wrap("its_name")`.
- Enter autocast around the call of the graph.""",
    bad="""\
import torch
import torch.fx


def energy(x):
    with torch.autocast("cpu", enabled=False):
        return (x @ x).sum()


traced = torch.fx.symbolic_trace(energy)
""",
    good="""\
import torch
import torch.fx


def energy(x):
    x = x.float()
    return (x @ x).sum()


traced = torch.fx.symbolic_trace(energy)
""",
    message=message,
    kinds=("autocast",),
    severity="information",
    is_notice=True,
)
