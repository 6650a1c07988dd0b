"""A traced value has no truth value."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, called, subject

_BUILTINS = {
    "max": "Use `torch.sym_max` for sizes, `torch.maximum` for tensors.",
    "min": "Use `torch.sym_min` for sizes, `torch.minimum` for tensors.",
    "any": "Use `torch.any`, or decide by something that does not depend on the inputs.",
    "all": "Use `torch.all`, or decide by something that does not depend on the inputs.",
    "sorted": "Use `torch.sort`, which is recorded.",
}
"""What to write instead of a builtin that compares its arguments."""

_ADVICE = (
    "Choose between values with `torch.where`, check with `torch._assert`, or move the branch into a function of its "
    "own and record its call with `torch.fx.wrap`."
)


def message(failure: Failure, expression: str) -> str:
    """Why nothing can branch on ``expression``, and what to do instead."""
    advice = _BUILTINS.get(called(expression) or "")
    if advice is not None:
        return f"{subject(expression)} compares values that depend on the inputs, which cannot be traced. {advice}"
    return f"{subject(expression)} depends on the inputs, so it is neither true nor false while tracing. {_ADVICE}"


RULE = Rule(
    code="control-flow",
    title="Control flow depends on a traced value",
    why="""\
Symbolic tracing runs `forward` once, with values that record what is done to them instead of tensors. What such a
value holds is not known, so `if`, `while`, `assert`, `and`, `or`, `not`, a conditional expression, a chained
comparison and the builtins `min`, `max`, `any`, `all` and `sorted` cannot decide anything by it,
not even by its shape or its dtype.

- A choice between two values that can both be computed: `torch.where(condition, a, b)`.
- A choice between two sizes: `torch.sym_ite(condition, a, b)`, `torch.sym_max`, `torch.sym_min`.
- A check: `torch._assert(condition, "message")`.
- A choice that is fixed once the module is built: decide by an attribute that `__init__` sets, or give the argument in
  `concrete_args`.
- Anything else: move the branch into a function at module level and record its call with
  `torch.fx.wrap("its_name")`.""",
    bad="""\
import torch
import torch.fx


def rectify(x):
    if x.sum() > 0:
        return torch.relu(x)
    return torch.neg(x)


traced = torch.fx.symbolic_trace(rectify)
""",
    good="""\
import torch
import torch.fx


def rectify(x):
    return torch.where(x.sum() > 0, torch.relu(x), torch.neg(x))


traced = torch.fx.symbolic_trace(rectify)
""",
    message=message,
    kinds=("control-flow",),
    fixes=("assertion", "wrap"),
)
