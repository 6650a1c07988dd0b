"""A traced value cannot become a plain number or a string."""

import ast

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, about, called, parsed, subject

_BY_OPERATION = {
    "int": "Use `torch.sym_int`, which is recorded.",
    "float": "Use `torch.sym_float`, which is recorded.",
    "round": "Use `torch.round` for tensors and `torch.sym_int` for sizes; both are recorded.",
    "range": "Loop a fixed number of times: use an attribute that `__init__` sets, or a constant.",
    "slice": "Use `.narrow(dim, start, length)`, which is recorded.",
    "index": (
        "Index a tensor instead of a list, so that the indexing is recorded, or take the index from an attribute that "
        "`__init__` sets."
    ),
    "format": "Leave the value out of the text.",
}

_GENERAL = "Move the expression into a function wrapped with `torch.fx.wrap`."

_NEEDS = {
    "format": "converts a value to text, but the value",
    "index": "needs a plain number as its index, but the index",
    "slice": "needs plain numbers as its bounds, but a bound",
}
"""The operation -> what needs a known value, if it does not just need a plain number."""


def message(failure: Failure, expression: str) -> str:
    """What ``expression`` needs the value for, what the value depends on, and what to do."""
    operation = "format" if _is_text(expression) else failure.operation or called(expression) or _by_look(expression)
    needs = _NEEDS.get(operation, "needs a plain number, but the value")
    reason = f"{needs} depends on {about(failure)} and is not known while tracing."
    return f"{subject(expression)} {reason} {_BY_OPERATION.get(operation, _GENERAL)}"


def _by_look(expression: str) -> str:
    match parsed(expression):
        case ast.Subscript(slice=ast.Slice() | ast.Tuple()):
            return "slice"
        case ast.JoinedStr():
            return "format"
    return ""


def _is_text(expression: str) -> bool:
    """Whether the expression formats a value: ``'%d' % n``, ``'{:d}'.format(n)``."""
    match parsed(expression):
        case ast.BinOp(left=ast.Constant(value=str())) | ast.Call(func=ast.Attribute(value=ast.Constant(value=str()))):
            return True
    return False


RULE = Rule(
    code="conversion",
    title="A traced value is converted to a plain number or a string",
    why="""\
Python's `int`, `float`, `round`, `range`, a list index, the bounds of a slice and a format such as `{n:d}` need a
number immediately, but a traced value only stands for a number that is not known yet. Arithmetic on a traced value is
recorded; converting it to a plain number is not possible.

- For a size that was divided, or whose root was taken: use `torch.sym_int(n)` or `torch.sym_float(n)`. A size that is
  divided with `//` stays an integer and needs neither.
- To cut a buffer to a size: use `self.ids.narrow(1, 0, n)` instead of `self.ids[:, :n]`. (An `nn.Parameter` can be
  sliced as usual.)
- For `range(n)`: loop over something that `__init__` sets, such as the layers.
- For text such as a log message: leave the value out.
- Otherwise: move the expression into a module-level function and record its call with `torch.fx.wrap("its_name")`.""",
    bad="""\
import math

import torch
import torch.fx


def unflatten(x):
    side = int(math.sqrt(x.shape[1]))
    return x.unflatten(1, (side, side))


traced = torch.fx.symbolic_trace(unflatten)
""",
    good="""\
import math

import torch
import torch.fx


def unflatten(x):
    side = torch.sym_int(math.sqrt(x.shape[1]))
    return x.unflatten(1, (side, side))


traced = torch.fx.symbolic_trace(unflatten)
""",
    text=message,
    kinds=("conversion",),
    fixes=("math_functions", "symbolic_numbers", "size_tuple", "narrow_slice", "wrap_call", "move_to_helper"),
)
