"""A value that a graph can't hold."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, remark, subject


def message(failure: Failure, expression: str) -> str:
    """That ``expression`` has to do with a value that can't be stored, and which ones can."""
    does = "returns" if expression.startswith("return") or failure.operation == "return" else "passes or returns"
    return (
        f"{subject(expression)} {does} an object that a graph cannot hold. Use traced values, numbers, text, `None`, "
        "dtypes, devices, and tuples, lists, dicts and slices of those, or move the call into a function recorded with "
        f"`torch.fx.wrap`.{remark(failure)}"
    )


RULE = Rule(
    code="argument",
    title="An object that a graph cannot hold",
    why="""\
Every argument of a recorded call, and what `forward` returns, is written into the graph and from there into Python
code. That works for traced values, numbers, text, `None`, dtypes, devices, layouts and enums, for tuples, lists, dicts,
named tuples, dataclasses and slices of those, and for tensors and modules. It does not work for sets, bytes, functions,
iterators, NumPy's numbers and arrays, and objects of classes of your own.

- A number of NumPy: `float(n)` or `int(n)` of it, while the module is built.
- A set: a tuple. An iterator or a generator: a list.
- An object of your own: a dataclass, a named tuple, or a method `__fx_create_arg__(self, tracer)` on its class.
- A function as an argument: move the call that takes it into a function recorded with `torch.fx.wrap("its_name")`.""",
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
    message=message,
    kinds=("argument",),
    fixes=("wrap", "helper"),
)
