"""The traced code itself raises an error."""

import ast
import re

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, remark, subject

_GENERAL = (
    "If this code works when it is not traced, it needs something that a traced value does not have: move it into a "
    "function wrapped with `torch.fx.wrap`."
)

_RAISED = (
    "If it is not reached with real tensors, the code that leads to it needs something that a traced value does not "
    "have: move that code into a function wrapped with `torch.fx.wrap`."
)

_TYPE_CHECK = (
    "A traced value is not an instance of `torch.Tensor`: remove the check, or move it into a function wrapped with "
    "`torch.fx.wrap`."
)

_IS_THERE = (
    'A traced input is never None. To leave an optional input out, pass `concrete_args={{"{name}": None}}` to '
    "`symbolic_trace`."
)

_NO_ATTRIBUTE = "The module has no attribute of this name: set it in `__init__`, or correct the name."

_LOOK_UP = (
    "A lookup with a traced value as the key always fails. Use a key that is known while tracing, such as an attribute "
    "that `__init__` sets."
)


def message(failure: Failure, expression: str) -> str:
    """Why ``expression`` may raise only while being traced, and Python's own error."""
    does = "was reached" if _is_raise(expression) else "raises an error"
    return f"{subject(expression)} {does} while tracing. {_advice(failure, expression)}{remark(failure)}"


def _advice(failure: Failure, expression: str) -> str:
    if failure.operation == "index" and failure.error.startswith("KeyError"):
        return _LOOK_UP
    if _is_raise(expression):
        return _RAISED
    if failure.error.startswith("AttributeError") and _OWN_ATTRIBUTE.match(expression):
        return _NO_ATTRIBUTE
    if failure.error.startswith("AssertionError") and (absent := _ABSENT.match(expression)):
        return _IS_THERE.format(name=absent[1])
    return _TYPE_CHECK if _checks_type(expression) else _GENERAL


_OWN_ATTRIBUTE = re.compile(r"self\.\w+$")

_ABSENT = re.compile(r"(?:assert )?(\w+) is None\b")


def _is_raise(expression: str) -> bool:
    return expression.partition(" ")[0] == "raise"


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
The code of the model raised an error while it was traced. Either the code is wrong, or it behaves differently with
traced values: a traced value is not an instance of `torch.Tensor`; `x is None` is false for every traced input, even
for an optional one; `hasattr(x, ...)` is true for every name; and a traced value is never found among the keys of a
dict.

- For a type check: remove it, or move it into a module-level function and record its call with
  `torch.fx.wrap("its_name")`.
- For an optional input that you want to leave out: pass `concrete_args={"mask": None}`.
- Otherwise: move the code into a module-level function and record its call with `torch.fx.wrap("its_name")`.""",
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
    text=message,
    kinds=("exception",),
    fixes=("wrap_call", "move_to_helper"),
)
