"""The traced function cannot be called with traced values."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="call-binding",
    title="The traced function cannot be called with traced values",
    why="""\
Tracing begins by creating one traced value for each parameter of `forward` that `concrete_args` does not fix.

- If `concrete_args` is a tuple, it has one entry for each parameter. If it is a dict, it names the parameters that it
  fixes.
- `self` has to be a separate parameter: `def forward(self, *inputs)`, not `def forward(*inputs)`.
- A class without `forward` cannot be traced.""",
    bad="""\
import torch.fx


def scale(x, factor):
    return x * factor


traced = torch.fx.symbolic_trace(scale, concrete_args=(2,))
""",
    good="""\
import torch.fx


def scale(x, factor):
    return x * factor


traced = torch.fx.symbolic_trace(scale, concrete_args={"factor": 2})
""",
    text=(
        "{subject} cannot be called with traced values. Declare the parameters by name instead of `*args`, and give "
        "`concrete_args` by name.{remark}"
    ),
    kinds=("call-binding",),
)
