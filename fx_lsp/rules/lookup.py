"""A traced value is never found in a set or a dict."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="lookup",
    title="A lookup that never finds a traced value",
    why="""\
A set or a dict finds a value by its hash, and the hash of a traced value never equals that of a number, a dtype or a
device. So `x.dtype in {torch.float16}` is false and `table.get(x.shape[0])` finds nothing, regardless of the input, and
the graph contains only what the program does if nothing is found.

- Use something that is known while tracing: an attribute that `__init__` sets, or an argument in `concrete_args`.
- Move the lookup into a module-level function and record its call with `torch.fx.wrap("its_name")`.""",
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
    text=(
        "{subject} finds nothing while tracing, regardless of the real value, so the graph contains only what the "
        "program does if nothing is found. Move the lookup into a function wrapped with `torch.fx.wrap`, or look up "
        "something that is known while tracing, such as an attribute that `__init__` sets."
    ),
    kinds=("lookup",),
    severity="warning",
    is_notice=True,
)
