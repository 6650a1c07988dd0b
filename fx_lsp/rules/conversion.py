"""A traced value is no number and no text."""

import ast

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, about, called, parsed, subject

_BY_OPERATION = {
    "int": "Use `torch.sym_int`, which is recorded.",
    "float": "Use `torch.sym_float`, which is recorded.",
    "round": "Use `torch.round` for tensors, `torch.sym_int` for sizes: both are recorded.",
    "range": "Loop a number of times that is known: an attribute that `__init__` sets, or a constant.",
    "slice": "Use `.narrow(dim, start, length)`, which is recorded.",
    "index": "Index a tensor instead, which is recorded, or choose by an attribute that `__init__` sets.",
    "format": "Leave the value out of the text.",
}

_GENERAL = "Move the expression into a function of its own and record its call with `torch.fx.wrap`."


def message(failure: Failure, expression: str) -> str:
    """What number or text ``expression`` needs, and what to do instead."""
    operation = failure.operation or called(expression) or _by_look(expression)
    needs = "a text" if operation == "format" or _is_text(expression) else "a plain number"
    reason = f"needs {needs}, and what it has depends on {about(failure)}, which is not known while tracing."
    advice = _BY_OPERATION["format"] if needs == "a text" else _BY_OPERATION.get(operation, _GENERAL)
    return f"{subject(expression)} {reason} {advice}"


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
    title="A plain number or text made of a traced value",
    why="""\
Python's `int`, `float`, `round`, `range`, the index of a list, the bounds of a slice and a format such as `{n:d}` need
a number at once, and while tracing a value only stands for a number that is still to come. Arithmetic with it is
recorded; turning it into a number is not possible.

- A size that was divided or rooted: `torch.sym_int(n)`, `torch.sym_float(n)`; `//` keeps a size whole without any.
- A buffer cut to a size: `self.ids.narrow(1, 0, n)` for `self.ids[:, :n]`. (A parameter can be sliced as it is.)
- `range(n)`: loop over something that `__init__` sets, such as the layers.
- A text, as for logging: leave the value out.
- Anything else: a function at module level whose call is recorded with `torch.fx.wrap("its_name")`.""",
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
    message=message,
    kinds=("conversion",),
    fixes=("symbolic", "sizes", "narrow", "wrap", "helper"),
)
