"""A traced value has no items to iterate over."""

import ast

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, called, input_name, parsed, subject, with_items

_BY_OPERATION = {
    "unpacking": "Unpack into a fixed number of names (`a, b, c = x`), which is recorded.",
    "double-star": "Pass the entries by name: `f(mask=options['mask'])`.",
    "sum": "Use `.sum(0)`, which is recorded.",
    "any": "Use `torch.any`, which is recorded.",
    "all": "Use `torch.all`, which is recorded.",
    "max": "Use `.max()`, or `torch.sym_max` for two sizes; both are recorded.",
    "min": "Use `.min()`, or `torch.sym_min` for two sizes; both are recorded.",
    "sorted": "Use `torch.sort`, which is recorded.",
}

_OF_HOOK = "backward-hook"
"""The operation of an `fxcore.failures.BackwardHookFailure`."""

_OF_A_SHAPE = "Unpack the sizes into a fixed number of names (`n, c, h, w = x.shape`), or index them (`x.shape[0]`)."

_GENERAL = (
    "Work on the whole tensor at once, unpack a fixed number of items (`a, b = x`), or index it in a loop over a "
    "`range` of fixed length; if it is a list, specify its number of items with `concrete_args`."
)


def message(failure: Failure, expression: str) -> str:
    """Why ``expression`` cannot be iterated over, and what to do instead."""
    if failure.operation == _OF_HOOK:
        return (
            f"{subject(expression)} calls a module with a hook from `register_backward_hook`; torch searches what the "
            "module returns for a tensor, and would search a traced value without end. Use "
            "`register_full_backward_hook`."
        )
    reason = "iterates over a traced value, whose number of items is not known while tracing."
    if isinstance(parsed(expression), ast.Name | ast.Attribute | ast.Subscript):
        reason = "is a traced value, so the number of items to iterate over is not known while tracing."
    return f"{subject(expression)} {reason} {_advice(failure, expression)}"


def _advice(failure: Failure, expression: str) -> str:
    if failure.passed_on is not None or "*args" in expression:
        return "Replace `*args` and `**kwargs` with the parameters that are passed on: `def forward(self, x, mask)`."
    operation = failure.operation or called(expression) or ""
    if operation in _BY_OPERATION and not (failure.subject == "shape" and called(expression)):
        return _BY_OPERATION[operation]
    match parsed(expression):
        case ast.Tuple(elts=items) if _starred(items):
            return "Add the tuples instead, which is recorded: `x.shape + (n,)` for `(*x.shape, n)`."
        case ast.Call(args=arguments) if _starred(arguments) and failure.subject == "shape":
            return "Pass the sizes as one tuple, which is recorded: `x.view(x.shape + (n,))`."
        case ast.Call(args=arguments) if _starred(arguments):
            return "Pass a fixed number of items, each by its index, which is recorded: `f(x[0], x[1])`."
    if failure.subject == "shape":
        return _OF_A_SHAPE
    if failure.subject == "argument":
        return f"Specify the number of items with {with_items(input_name(expression, 'items'), '[PH, PH]')}."
    return _GENERAL


def _starred(items: list[ast.expr]) -> bool:
    return any(isinstance(item, ast.Starred) for item in items)


RULE = Rule(
    code="iteration",
    title="Iteration over a traced value",
    why="""\
While tracing, a value that stands for a tensor, a shape or a list has no items, and the number of items that it will
have is not known. So a `for` loop, a comprehension, `*x`, `zip`, `enumerate`, `list`, `sum` and the like cannot iterate
over it. Unpacking into a fixed number of names works: `a, b = x` records `x[0]` and `x[1]`.

- To combine a shape with other sizes: `x.shape[:-1] + (-1, n)` instead of `(*x.shape[:-1], -1, n)`. The addition of
  tuples is recorded.
- For the items of a tensor: work on the whole tensor at once, or index it in a loop over a `range` of fixed length.
- For a list that is an input: specify its number of items with `concrete_args={"images": [PH, PH]}`, where `PH` is
  `torch.fx.PH`.
- For `*args` and `**kwargs` that are only passed on: name the parameters, `def forward(self, x, mask)`.
- Otherwise: move the loop into a module-level function and record its call with `torch.fx.wrap("its_name")`.""",
    bad="""\
import torch
import torch.fx
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(64, 64)

    def forward(self, x):
        return self.query(x).view(*x.shape[:-1], 4, 16)


traced = torch.fx.symbolic_trace(Attention())
""",
    good="""\
import torch
import torch.fx
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(64, 64)

    def forward(self, x):
        return self.query(x).view(x.shape[:-1] + (4, 16))


traced = torch.fx.symbolic_trace(Attention())
""",
    text=message,
    kinds=("iteration",),
    fixes=(
        "name_passed_on",
        "torch_assert",
        "shape_unpacking",
        "shape_star",
        "items_by_index",
        "wrap_call",
        "move_to_helper",
    ),
)
