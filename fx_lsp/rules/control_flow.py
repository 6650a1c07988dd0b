"""A branch that depends on a traced value."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, about, called, input_name, subject

_DECIDERS = {
    "if": "this `if`",
    "guard": "this check",
    "while": "this `while`",
    "assert": "this `assert`",
    "and": "`and`",
    "or": "`or`",
    "not": "`not`",
    "conditional": "this conditional expression",
    "comparison": "this chained comparison",
    "in": "`in`",
}
"""The operation -> what cannot be evaluated."""

_BY_OPERATION = {
    "guard": (
        'Use `torch._assert(condition, "message")`, which is recorded; `condition` is what must be true for the check '
        "to pass."
    ),
    "assert": 'Use `torch._assert(condition, "message")` instead, which is recorded.',
    "while": "Loop a fixed number of times, or move the loop into a function wrapped with `torch.fx.wrap`.",
    "comparison": (
        "Write `(a < b) & (b < c)`, which is recorded; if a branch depends on the result, move the branch into a "
        "function wrapped with `torch.fx.wrap`."
    ),
}

_BY_SUBJECT = {
    "shape": (
        "Branch on a size that `__init__` sets, or move the branch into a function wrapped with `torch.fx.wrap`. If "
        "the branch only checks an input, use `torch._assert`."
    ),
    "dtype": (
        "Call `x.to(dtype)` without checking: it returns `x` itself if nothing has to change. Or branch on an "
        "attribute that `__init__` sets."
    ),
    "device": (
        "Call `x.to(device)` without checking: it returns `x` itself if nothing has to change. Or branch on an "
        "attribute that `__init__` sets."
    ),
    "attribute": (
        "Branch on an attribute that `__init__` sets, or move the branch into a function wrapped with `torch.fx.wrap`."
    ),
    "values": (
        "Choose between values with `torch.where`, or move the branch into a function wrapped with `torch.fx.wrap`."
    ),
}

_GENERAL = (
    "Choose between values with `torch.where`, or move the branch into a function wrapped with `torch.fx.wrap`. If the "
    "branch only checks an input, use `torch._assert`."
)

_COMPARERS = {
    "max": ("`torch.sym_max`", "`torch.maximum`"),
    "min": ("`torch.sym_min`", "`torch.minimum`"),
    "any": ("an attribute that `__init__` sets", "`torch.any(torch.stack([a, b]))`"),
    "all": ("an attribute that `__init__` sets", "`torch.all(torch.stack([a, b]))`"),
    "sorted": ("an order that `__init__` sets", "`torch.sort(torch.stack([a, b]))`"),
}
"""A builtin that compares -> what to use instead: first for sizes, flags and other plain values, then for tensors."""


def message(failure: Failure, expression: str) -> str:
    """What ``expression`` depends on, what cannot be evaluated because of that, and what to do instead."""
    operation = failure.operation or called(expression) or ""
    decider = _DECIDERS.get(operation) or (f"`{operation}`" if operation else "this branch")
    reason = f"depends on {about(failure)}, so {decider} cannot be evaluated while tracing."
    return f"{subject(expression)} {reason} {_advice(operation, failure, expression)}"


def _advice(operation: str, failure: Failure, expression: str) -> str:
    if operation in _BY_OPERATION:
        return _BY_OPERATION[operation]
    if operation in _COMPARERS:
        for_sizes, for_tensors = _COMPARERS[operation]
        own = {"": f"{for_tensors} for tensors and {for_sizes} for sizes", "values": for_tensors}
        return f"Use {own.get(failure.subject, for_sizes)} instead."
    if operation == "conditional" and failure.subject == "shape":
        return "Choose between sizes with `torch.sym_ite(condition, a, b)`, which is recorded."
    if failure.subject == "argument":
        name = input_name(expression, "flag")
        return (
            f'Set the input to a constant with `concrete_args={{"{name}": ...}}`, or replace it with an attribute of '
            "the module."
        )
    return _BY_SUBJECT.get(failure.subject, _GENERAL)


RULE = Rule(
    code="control-flow",
    title="Control flow depends on a traced value",
    why="""\
Symbolic tracing runs `forward` once, with traced values instead of tensors. A traced value records the operations that
are applied to it, but its contents, shape and dtype are not known. So `if`, `while`, `assert`, `and`, `or`, `not`, a
conditional expression, a chained comparison and the builtins `min`, `max`, `any`, `all` and `sorted` cannot be
evaluated if they depend on a traced value.

- To choose between two values that can both be computed: `torch.where(condition, a, b)`.
- To choose between two sizes: `torch.sym_ite(condition, a, b)`, `torch.sym_max` or `torch.sym_min`.
- To check something: `torch._assert(condition, "message")`.
- If the choice is fixed once the module is built: branch on an attribute that `__init__` sets, or set the argument to a
  constant with `concrete_args`.
- If your program only ever takes one branch: keep that branch, and check its condition with `torch._assert`.
- Otherwise: move the branch into a module-level function and record its call with `torch.fx.wrap("its_name")`. A branch
  that calls modules cannot be moved; instead, trace with a `torch.fx.Tracer` whose `is_leaf_module` returns true for
  the module that contains the branch.""",
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
    text=message,
    kinds=("control-flow",),
    fixes=(
        "torch_assert",
        "symbolic_numbers",
        "torch_where",
        "distribution_checks",
        "wrap_call",
        "move_to_helper",
        "without_condition",
        "specialize_branch",
    ),
)
