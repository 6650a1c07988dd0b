"""A plain number that depends on the values in a tensor."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="data-dependent-size",
    title="torch.export needs a number that depends on data",
    why="""\
`torch.export` runs `forward` on tensors that have a shape but no values. `x.item()` becomes a symbol, with which it can
compute. But `int(…)`, `range(…)` and an index of a list need a plain number.

- Use the symbol itself: `x.item()` or `x.sum().item()` instead of `int(x)`.
- Loop a fixed number of times, or replace the loop with operations on the whole tensor.
- If the number does not depend on the inputs, compute it in `__init__`.
- If torch asks for a bound of the symbol: state it with `torch._check(n <= limit)` before the line.

The graph can't contain a loop whose number of turns depends on data, or an item of a list that does. Put the whole loop
into an operator of its own with `torch.library.custom_op`, of which the graph contains only the call.""",
    bad="""\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x.new_zeros(int(x.argmax()))


model = Net()
model(torch.ones(3, 4))
""",
    good="""\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x.new_zeros(x.argmax().item())


model = Net()
model(torch.ones(3, 4))
""",
    text=(
        "{subject} needs a plain number that depends on the values in a tensor, which torch.export does not know. Use "
        "the symbol that `.item()` yields, without `int`, or compute the number in `__init__`."
    ),
    kinds=("data-dependent-size",),
    capture="export",
    fixes=(
        "skip_while_compiling",
        "tensor_item",
        "tensor_length",
        "all_modules",
        "tensor_index",
        "without_condition",
        "custom_operator",
    ),
)
