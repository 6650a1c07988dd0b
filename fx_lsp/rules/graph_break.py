"""A place that torch.compile cannot put into its graph."""

import re

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, remark, subject

_PART = re.compile(r"^ *(Explanation|Hint): (.+)$", re.MULTILINE)
"""A part of what torch says of a graph break."""

_FOR_TORCH = re.compile(r"(file|report) an issue")
"""In the hints that are of no use to somebody who edits a model."""

_EITHER = (
    " This function is either a Python builtin (e.g. _warnings.warn) or a third-party C/C++ Python extension"
    " (perhaps created with pybind)."
)
"""What torch says of every function that it can't follow."""

_UNKNOWN = re.compile(r"Could not (extract specialized|guard on data-dependent)")
"""What torch says where a number is needed, or a question asked, whose answer depends on data."""


def message(failure: Failure, expression: str) -> str:
    """torch's explanation of a graph break and its first hint for users, with the number of the page about it."""
    if failure.kind == "compile-error":
        return f"{subject(expression)} makes torch.compile fail{remark(failure)}."
    parts: dict[str, str] = {}
    for name, text in _PART.findall(failure.error):
        if name != "Hint" or not _FOR_TORCH.search(text):
            parts.setdefault(name, text.strip())
    reason = " ".join(parts.values()).replace(_EITHER, "") or failure.error.partition("\n")[0]
    if "_LegacyVariableBase" in reason:
        reason = "`torch.autograd.Variable` has not been needed since torch 0.4: use the tensor or `x.detach()`."
    if not parts and _UNKNOWN.match(reason):
        reason = "It needs the values in a tensor, which are not known while torch compiles."
    page = re.search(r"/gb(\d+)\.html", failure.error)
    return f"{subject(expression)} breaks the graph of torch.compile. {reason}{f' (GB{page[1]})' if page else ''}"


RULE = Rule(
    code="graph-break",
    title="torch.compile breaks the graph",
    why="""\
`torch.compile` follows `forward` instruction by instruction. Where it meets something that it cannot put into a graph,
it ends the graph, runs the instruction in Python, and begins another graph. With `fullgraph=True`, this is an error.
What helps with a branch also helps here: `torch.where`, `torch.cond`, and `torch._check` for what always holds. If a
condition only saves work, as in `if len(rows) == 0: continue`, remove it. A call that prints, logs, takes the time or
shows progress can be left out under `torch.compiler.is_compiling()`. Compute numbers with `math`, not with NumPy, and
leave out `torch.autograd.Variable` and, for new tensors, `requires_grad_`. torch puts LSTMs, GRUs and RNNs into a
graph only with `torch._dynamo.config.allow_rnn = True`. For Python's random numbers, for `str(x)`, and for exceptions
that the program catches, there is no fix: move them out of what is compiled. All else that takes and returns tensors
and numbers can be put into an operator of its own with `torch.library.custom_op`: the graph contains only its call.

The message has torch's own explanation and hint, and the number of a page about this kind of break, such as GB0059.

fx-lsp compiles with `fullgraph=True` and the backend `eager` to find the first break, and without `fullgraph=True`, on
random weights, to find the other places that `fullgraph=True` refuses. Without `fullgraph=True`, torch also breaks the
graph at `.item()` and at operations whose result has a size that depends on data. A break is an error if your code
compiles the class or function, or what it is a part of, with `fullgraph=True`. Otherwise it is information, since the
program still runs.""",
    bad="""\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        print(x)
        return torch.relu(x)


model = Net()
model(torch.ones(3, 4))
""",
    good="""\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return torch.relu(x)


model = Net()
model(torch.ones(3, 4))
""",
    text=message,
    kinds=("graph-break", "compile-error"),
    capture="compile",
    severity="information",
    fixes=(
        "skip_while_compiling",
        "torch_check",
        "torch_where",
        "tensor_item",
        "torch_cond",
        "whole_loop",
        "all_modules",
        "without_condition",
        "distribution_checks",
        "without_variable",
        "math_functions",
        "tensor_index",
        "allow_rnn",
        "without_leaf",
        "fake_kernel",
        "custom_operator",
    ),
)
