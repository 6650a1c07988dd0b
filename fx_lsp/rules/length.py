"""The length of a traced value is not known."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, called, input_name, subject, with_items

_OF_A_SHAPE = (
    "Compute the length from the tensor's `.dim()`, which is recorded: `x.dim()` for `len(x.shape)`, or "
    "`x.dim() - 2` for `len(x.shape[2:])`."
)

_BY_OPERATION = {
    "reversed": "Use `.flip(0)`, which is recorded.",
    "torch.tensor": "Combine tensors with `torch.stack`; leave sizes as they are, or put them into a tuple.",
}


def message(failure: Failure, expression: str) -> str:
    """Why ``expression`` cannot be evaluated, and what to write instead."""
    reason = f"{subject(expression)} needs the length of a traced value, which is not known while tracing."
    return f"{reason} {_advice(failure, expression)}"


def _advice(failure: Failure, expression: str) -> str:
    operation = failure.operation or called(expression) or "len"
    if operation in _BY_OPERATION:
        return _BY_OPERATION[operation]
    if operation != "len":
        return "Move the call into a function wrapped with `torch.fx.wrap`."
    own = {
        "shape": _OF_A_SHAPE,
        "argument": f"Specify the number of items with {with_items(input_name(expression, 'items'), '[PH, PH]')}.",
    }
    advice = own.get(failure.subject, "For the number of items in a tensor, use `.size(0)`, which is recorded.")
    return f'{advice} Or record the call with `torch.fx.wrap("len")`.'


RULE = Rule(
    code="len",
    title="The length of a traced value",
    why="""\
Python requires `len` to return a plain integer immediately, but while tracing, the size of the input is not known yet.
`x.size(0)` is recorded like any other method call, and so is `x.dim()`, which replaces `len(x.shape)`.

To keep the call as it is, put `torch.fx.wrap("len")` at module level in the file that calls `len`: all calls to `len`
in that file are then recorded in the graph. A function that receives the recorded length also needs a `wrap` call,
unless calls to that function are always recorded, as are calls to any function in `math`.""",
    bad="""\
from math import sqrt

import torch
import torch.fx


def normalize(x):
    return x / sqrt(len(x))


traced = torch.fx.symbolic_trace(normalize)
""",
    good="""\
from math import sqrt

import torch
import torch.fx

torch.fx.wrap("len")


def normalize(x):
    return x / sqrt(len(x))


traced = torch.fx.symbolic_trace(normalize)
""",
    text=message,
    kinds=("len",),
    fixes=("tensor_length", "items_by_index", "wrap_call", "move_to_helper", "without_condition"),
)
