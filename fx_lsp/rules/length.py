"""A traced value has no length."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, called, subject

_BY_SUBJECT = {
    "shape": "Use `.dim()` of the tensor for the length of its shape, which is recorded.",
    "argument": 'Say how many there are when tracing: `concrete_args={"items": [PH, PH]}` with `torch.fx.PH`.',
}

_BY_OPERATION = {
    "reversed": "Use `.flip(0)`, which is recorded.",
    "torch.tensor": "Use `torch.stack` for tensors; keep sizes as they are, or as a tuple.",
}


def message(failure: Failure, expression: str) -> str:
    """Why ``expression`` has no length, and what to write instead."""
    reason = f"{subject(expression)} needs the length of a traced value, which is not known while tracing."
    return f"{reason} {_advice(failure, expression)}"


def _advice(failure: Failure, expression: str) -> str:
    operation = failure.operation or called(expression) or "len"
    if operation in _BY_OPERATION:
        return _BY_OPERATION[operation]
    if operation != "len":
        return "Move the call into a function of its own and record that with `torch.fx.wrap`."
    own = "Use `.size(0)` for the number of a tensor's items, which is recorded."
    return f'{_BY_SUBJECT.get(failure.subject, own)} Or record the call itself with `torch.fx.wrap("len")`.'


RULE = Rule(
    code="len",
    title="The length of a traced value",
    why="""\
Python insists that `len` returns a plain integer at once, and while tracing there is none to return: the value that
stands for the input has no size yet. `x.size(0)` is recorded like any other method, and so is `x.dim()` for
`len(x.shape)`.

To keep the call as it is, put `torch.fx.wrap("len")` at module level of the file that calls it: calls of that name in
that file are then recorded in the graph. A function that receives the recorded length, such as `math.sqrt`, is either
one that is always recorded (all of `math` is) or needs a `wrap` of its own.""",
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
    message=message,
    kinds=("len",),
    fixes=("length", "wrap", "helper"),
)
