"""``torch.autocast`` adds no node to the graph."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="autocast",
    title="Autocast is not recorded",
    why="""\
`with torch.autocast(...)` changes the state of the process, and no node of the graph records that. The block runs
under whatever autocast state is active when the graph is called. An `enabled=False` around numerically delicate
operations is lost as well.

- Convert explicitly, which is recorded: `x = x.float()`.
- Move the block into a module-level function and record its call with `torch.fx.wrap("its_name")`.
- Call the graph inside `with torch.autocast(...)`.""",
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
    text=(
        "{subject} changes the autocast state, which is not recorded, so this part of the graph runs under whatever "
        "autocast state is active when the graph is called. Convert explicitly (`x.float()`), or move the "
        "code into a function wrapped with `torch.fx.wrap`."
    ),
    kinds=("autocast",),
    severity="information",
    is_notice=True,
)
