"""The traced function cannot be called with traced values."""

from fx_lsp.agent.messages import STATIC_FORWARD, Failure
from fx_lsp.rules import Rule, remark, subject


def message(failure: Failure, expression: str) -> str:
    """What to do so that tracing can begin."""
    if failure.operation == STATIC_FORWARD:
        return (
            "`forward` is a static method, so torch.fx passes it the module itself in place of the first input. Make "
            f"`forward` an ordinary method, with `self` as its first parameter.{remark(failure)}"
        )
    return (
        f"{subject(expression)} cannot be traced, because torch.fx cannot call it with one traced value for each of "
        "its parameters. Declare each parameter by name (including `self` in a method) instead of `*args`, and pass "
        f'`concrete_args` as a dict (`{{"factor": 2}}`).{remark(failure)}'
    )


RULE = Rule(
    code="call-binding",
    title="The traced function cannot be called with traced values",
    why="""\
Tracing begins by creating one traced value for each parameter of `forward` that `concrete_args` does not fix.

- If `concrete_args` is a tuple, it has one entry for each parameter. If it is a dict, it names the parameters that it
  fixes.
- `self` has to be a separate parameter: `def forward(self, *inputs)`, not `def forward(*inputs)`.
- `forward` has to be an ordinary method: torch.fx passes the module as the first argument, even to a static method.
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
    text=message,
    kinds=("call-binding",),
    fixes=("bound_forward",),
)
