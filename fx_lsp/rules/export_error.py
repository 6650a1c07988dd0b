"""Any other failure of torch.export."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="export-error",
    title="torch.export cannot capture this",
    why="""\
The program runs, but `torch.export` cannot run it on tensors that have a shape and no values. Typical causes are
`x.numpy()`, code in C++ that reads the memory of a tensor, and libraries that need plain tensors.

- Stay within operations of torch: a tensor has most methods of an array. The results may differ in their last bits, and
  then fx-lsp doesn't call the edit proven.
- Leave out what only prints or logs: `if not torch.compiler.is_compiling():`.
- Or put the code into an operator of its own with `torch.library.custom_op`, and register its fake implementation.""",
    bad="""\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x + float(x.numpy().sum())


model = Net()
model(torch.ones(3, 4))
""",
    good="""\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x + x.sum()


model = Net()
model(torch.ones(3, 4))
""",
    text=(
        "{subject} cannot be run by torch.export ({error}). Use operations of torch, or put the code into an operator "
        "of its own with `torch.library.custom_op`."
    ),
    kinds=("export-error",),
    capture="export",
    fixes=("skip_while_compiling", "without_numpy", "custom_operator"),
)
