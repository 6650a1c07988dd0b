"""A value that a graph cannot hold."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, hands_over, remark, subject


def message(failure: Failure, expression: str) -> str:
    """What a graph cannot hold, and what it can."""
    return (
        f"{subject(expression)} {hands_over(failure, expression)} an object that a graph cannot hold. Use only traced "
        "values, numbers, strings, `None`, dtypes and devices, and tuples, lists, dicts and slices of these, or move "
        f"this code into a function wrapped with `torch.fx.wrap`.{remark(failure)}"
    )


RULE = Rule(
    code="argument",
    title="An object that a graph cannot hold",
    why="""\
The arguments of a recorded call and the return value of `forward` are written into the graph, and from there into
Python code. This works for traced values, numbers, strings, `None`, dtypes, devices, layouts and enums; for tuples,
lists, dicts, named tuples, dataclasses and slices of these; and for tensors and modules. It does not work for sets,
bytes, functions, iterators, NumPy numbers and arrays, or objects of your own classes.

- For a NumPy number: convert it with `float(n)` or `int(n)` while the module is built. For a NumPy array: pass
  `array.tolist()`, or a tensor.
- For a set: use a tuple. For an iterator or a generator: use a list.
- For an object of your own class: make the class a dataclass or a named tuple, or give it a method
  `__fx_create_arg__(self, tracer)`.
- For a function that is passed as an argument: put the call that it is passed to in a function of its own, and record
  the call to that function with `torch.fx.wrap("its_name")`.""",
    bad="""\
import torch.fx


def statistics(x):
    return {x.mean(), x.std()}


traced = torch.fx.symbolic_trace(statistics)
""",
    good="""\
import torch.fx


def statistics(x):
    return (x.mean(), x.std())


traced = torch.fx.symbolic_trace(statistics)
""",
    text=message,
    kinds=("argument",),
    fixes=("numpy_argument", "wrap_call", "move_to_helper"),
)
