"""A forward returns an object that torch.export cannot take apart."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="unsupported-output",
    title="torch.export cannot return this object",
    why="""\
The inputs and outputs of an exported program are tensors, plain values, and lists, tuples, dicts and named tuples of
these. Any other class has to be registered, so that torch knows which tensors an object of it holds.

- Return a tuple or a dict. Callers then get another type, so fx-lsp doesn't call this edit proven.
- Or register a dataclass with `torch.export.register_dataclass`, any other class with
  `torch.utils._pytree.register_pytree_node`, by its arguments or by its attributes.
- If a library's class is in the output, such as the cache of a language model: have the model not return it, e.g. with
  `use_cache=False`.""",
    bad="""\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return iter([x, x + 1])


model = Net()
model(torch.ones(3, 4))
""",
    good="""\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return [x, x + 1]


model = Net()
model(torch.ones(3, 4))
""",
    text=(
        "{subject} returns an object that torch.export cannot take apart. Return a tuple or a dict of tensors, or "
        "register the class, e.g. with `torch.export.register_dataclass`."
    ),
    kinds=("unsupported-output",),
    capture="export",
    fixes=("register_output", "tuple_output"),
)
