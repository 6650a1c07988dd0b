"""An operator that takes a Python function."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="higher-order",
    title="An operator that takes a Python function",
    why="""\
Operators in `torch.ops.higher_order` run a Python function that is passed to them. Symbolic tracing records only the
call to the operator, and a graph cannot hold a Python function as an argument.

- Call the function directly: its operations are recorded.
- Move the operator's call into a module-level function and record the call to that function with
  `torch.fx.wrap("its_name")`.""",
    bad="""\
import torch
import torch.fx


def double(x):
    return x + x


def strictly(x):
    return torch.ops.higher_order.strict_mode(double, (x,))


traced = torch.fx.symbolic_trace(strictly)
""",
    good="""\
import torch
import torch.fx


def double(x):
    return x + x


def strictly(x):
    return double(x)


traced = torch.fx.symbolic_trace(strictly)
""",
    text=(
        "{subject} passes a Python function to an operator, but symbolic tracing cannot trace into that function. "
        "Call the function directly, or move the call into a function wrapped with `torch.fx.wrap`."
    ),
    kinds=("higher-order",),
    fixes=("wrap_call", "move_to_helper"),
)
