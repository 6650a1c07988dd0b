"""The traced function can't be called with symbols."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, remark, subject


def message(failure: Failure, expression: str) -> str:
    """That the signature and what is to be passed don't fit, and what to do."""
    return (
        f"{subject(expression)} cannot be called with traced values as it is declared. Declare parameters by name "
        f"instead of `*args`, and give `concrete_args` by name.{remark(failure)}"
    )


RULE = Rule(
    code="call-binding",
    title="The traced function cannot be called with symbols",
    why="""\
Tracing begins by making one symbol for each parameter of `forward`, except those that `concrete_args` gives a value.

- `concrete_args` as a tuple has one entry for each parameter; as a dict, it names those that it is about.
- `self` has to be a parameter of its own: `def forward(self, *inputs)`, not `def forward(*inputs)`.
- A class without `forward` can't be traced.""",
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
    message=message,
    kinds=("call-binding",),
)
