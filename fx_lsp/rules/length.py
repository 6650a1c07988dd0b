"""A traced value has no length."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, called, subject

_ADVICE = 'Use `.size(0)` (`.dim()` for the length of a shape), or record the call with `torch.fx.wrap("len")`.'


def message(failure: Failure, expression: str) -> str:
    """Why ``expression`` has no length, and what to write instead."""
    reason = f"{subject(expression)} needs the length of a traced value, which is not known while tracing."
    if called(expression) in ("len", None):
        return f"{reason} {_ADVICE}"
    return f"{reason} Move the call into a function of its own and record that with `torch.fx.wrap`."


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
    fixes=("wrap",),
)
