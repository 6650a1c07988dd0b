"""A traced value is not an instance of ``torch.Tensor``."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="type-check",
    title="A type check that is false while tracing",
    why="""\
While tracing, the inputs and everything computed from them are traced values, not tensors.
`isinstance(x, torch.Tensor)` and `torch.is_tensor(x)` are false for them, so the graph contains the branch for values
that are not tensors.

- Check once, where the module is built or before it is called, not in `forward`.
- Check for the other types instead: `not isinstance(x, (list, tuple))` gives the right answer while tracing, too.""",
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
    text=(
        "{subject} is false while tracing, although it is true for the real value, so the graph contains the wrong "
        "branch. Check for the other types instead (for a tensor: `not isinstance(x, (list, tuple))`), or check "
        "outside `forward`."
    ),
    kinds=("type-check",),
    severity="warning",
    is_notice=True,
)
