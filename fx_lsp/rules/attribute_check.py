"""An attribute check that finds an attribute that only a traced value has."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="attribute-check",
    title="An attribute check that is always true while tracing",
    why="""\
While tracing, a value that stands for a tensor returns a recorded value for every attribute, whatever its name. So
`hasattr(x, "mask")` is true and `getattr(x, "mask", None)` finds something even though tensors have no such attribute,
and the graph reads an attribute that does not exist when it runs.

- Pass the value that may be missing as a separate argument.
- Branch on an attribute of the module that `__init__` sets.""",
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
    text=(
        "{subject} finds `{detail}` while tracing because a traced value seems to have every attribute, but tensors "
        "have no `{detail}`. Pass the value that may be missing as a separate argument, or branch on an attribute that "
        "`__init__` sets."
    ),
    kinds=("attribute-check",),
    severity="warning",
    is_notice=True,
)
