"""The traced code raises an error of its own."""

import ast

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, remark, subject

_GENERAL = "Where it works on real tensors, it depends on something that a traced value does not have."

_TYPE_CHECK = (
    "A traced value is no instance of `torch.Tensor`: leave the check out, or move it into a function recorded with "
    "`torch.fx.wrap`."
)

_LOOK_UP = "A traced value is never found as a key. Look up by something that `__init__` sets."


def message(failure: Failure, expression: str) -> str:
    """That ``expression`` raises, why it may do so only while tracing, and Python's own error."""
    return f"{subject(expression)} raises an error while being traced. {_advice(failure, expression)}{remark(failure)}"


def _advice(failure: Failure, expression: str) -> str:
    if failure.operation == "index" and failure.error.startswith("KeyError"):
        return _LOOK_UP
    return _TYPE_CHECK if _checks_type(expression) else _GENERAL


def _checks_type(expression: str) -> bool:
    """Whether the expression is the statement ``assert isinstance(...)``, or asserts ``torch.is_tensor(...)``."""
    try:
        (statement,) = ast.parse(expression).body
    except (SyntaxError, ValueError):
        return False
    if not isinstance(statement, ast.Assert):
        return False
    names = {node.id for node in ast.walk(statement.test) if isinstance(node, ast.Name)}
    return "isinstance" in names or "is_tensor" in ast.unparse(statement.test)


RULE = Rule(
    code="exception",
    title="The traced code raises an error",
    why="""\
The code of the model raised an error of its own while it was traced. Either it is simply wrong, or it takes a way that
it would not take on real tensors: a traced value is no `torch.Tensor` to `isinstance`, `x is None` is false for every
input of the trace, even for one that is optional, `hasattr(x, ...)` is true for every name, and a traced value is not
found among the keys of a dict.

- A check of types: leave it out, or move it into a function recorded with `torch.fx.wrap("its_name")`.
- An optional input that is to be left out: `concrete_args={"mask": None}`.
- Anything else: a function at module level whose call is recorded with `torch.fx.wrap("its_name")`.""",
    bad="""\
import torch
import torch.fx


def norm(x):
    assert isinstance(x, torch.Tensor)
    return x / x.norm()


traced = torch.fx.symbolic_trace(norm)
""",
    good="""\
import torch
import torch.fx


def norm(x):
    return x / x.norm()


traced = torch.fx.symbolic_trace(norm)
""",
    message=message,
    kinds=("exception",),
    fixes=("wrap",),
)
