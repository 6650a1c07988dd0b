"""A traced value has no truth value."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, about, called, subject

_DECIDERS = {
    "if": "this `if`",
    "guard": "this check",
    "while": "this `while`",
    "assert": "this `assert`",
    "and": "`and`",
    "or": "`or`",
    "not": "`not`",
    "conditional": "this conditional expression",
    "comparison": "a chained comparison",
    "in": "`in`",
}
"""By the operation, who can't decide."""

_BY_OPERATION = {
    "guard": 'Write `torch._assert(condition, "message")` with the condition that must hold: that is recorded.',
    "assert": 'Write `torch._assert(condition, "message")` instead: that is recorded.',
    "while": "Loop a number of times that is known, or move the loop into a function recorded with `torch.fx.wrap`.",
    "comparison": (
        "Write `(a < b) & (b < c)`, which is recorded; where a branch hangs on it, move that into a function recorded "
        "with `torch.fx.wrap`."
    ),
}

_BY_SUBJECT = {
    "shape": (
        "Decide by a size that `__init__` sets, check it with `torch._assert`, or move the branch into a function "
        "recorded with `torch.fx.wrap`."
    ),
    "dtype": (
        "Convert without asking, since `x.to(dtype)` is `x` itself where nothing is to be done, or decide by an "
        "attribute that `__init__` sets."
    ),
    "device": (
        "Move without asking, since `x.to(device)` is `x` itself where nothing is to be done, or decide by an "
        "attribute that `__init__` sets."
    ),
    "attribute": "Decide by an attribute that `__init__` sets, or move the branch into a function of its own.",
    "values": (
        "Choose between values with `torch.where`, or move the branch into a function recorded with `torch.fx.wrap`."
    ),
}

_GENERAL = (
    "Choose between values with `torch.where`, check with `torch._assert`, or move the branch into a function of its "
    "own and record its call with `torch.fx.wrap`."
)

_COMPARERS = {
    "max": ("`torch.sym_max`", "`torch.maximum`"),
    "min": ("`torch.sym_min`", "`torch.minimum`"),
    "any": ("an attribute that `__init__` sets", "`torch.any`"),
    "all": ("an attribute that `__init__` sets", "`torch.all`"),
    "sorted": ("an order that `__init__` sets", "`torch.sort`"),
}
"""For a builtin that asks for truths what to use instead: for sizes and the like, for tensors."""


def message(failure: Failure, expression: str) -> str:
    """What ``expression`` depends on, who can't decide by that, and what to do instead."""
    operation = failure.operation or called(expression) or ""
    decider = _DECIDERS.get(operation) or (f"`{operation}`" if operation else "a branch")
    reason = f"depends on {about(failure)}, so {decider} has nothing to decide by while tracing."
    return f"{subject(expression)} {reason} {_advice(operation, failure, expression)}"


def _advice(operation: str, failure: Failure, expression: str) -> str:
    if operation in _BY_OPERATION:
        return _BY_OPERATION[operation]
    if operation in _COMPARERS:
        for_sizes, for_tensors = _COMPARERS[operation]
        own = {"": f"{for_tensors} for tensors, {for_sizes} for sizes", "values": for_tensors}
        return f"Use {own.get(failure.subject, for_sizes)}."
    if operation == "conditional" and failure.subject == "shape":
        return "Choose between sizes with `torch.sym_ite(condition, a, b)`, which is recorded."
    if failure.subject == "argument":
        name = expression if expression.isidentifier() else "flag"
        return f'Say what it is when tracing, `concrete_args={{"{name}": ...}}`, or make it an attribute of the module.'
    return _BY_SUBJECT.get(failure.subject, _GENERAL)


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
- A choice that always falls out the same way in the program that is wanted: keep that side, and check with
  `torch._assert` that it is the right one.
- Anything else: move the branch into a function at module level and record its call with
  `torch.fx.wrap("its_name")`. A branch that calls modules can't move; trace with a `torch.fx.Tracer` whose
  `is_leaf_module` is true for the module around it.""",
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
    fixes=("assertion", "symbolic", "choice", "wrap", "helper", "specialise"),
)
