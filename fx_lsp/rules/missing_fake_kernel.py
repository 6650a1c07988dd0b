"""A custom operator that does not say what shape it returns."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="missing-fake-kernel",
    title="An operator lacks a fake implementation",
    why="""\
`torch.export` runs `forward` on tensors that have a shape but no values. A custom operator has to say which shape and
dtype its result has for such a tensor: this is its fake implementation.

Write a function that returns an empty tensor of the right shape, and register it with `operator.register_fake`. If the
operator is defined in the same file, fx-lsp offers one for a result like its first tensor, and tries whether that is
what the operator returns.""",
    bad="""\
import torch
from torch import nn


@torch.library.custom_op("docs::twice_bad", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


class Net(nn.Module):
    def forward(self, x):
        return twice(x)


model = Net()
model(torch.ones(3, 4))
""",
    good="""\
import torch
from torch import nn


@torch.library.custom_op("docs::twice_good", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def twice_shape(x):
    return torch.empty_like(x)


class Net(nn.Module):
    def forward(self, x):
        return twice(x)


model = Net()
model(torch.ones(3, 4))
""",
    text=(
        "{subject} calls an operator that has no fake implementation, so torch.export does not know the shape of its "
        "result. Register a function that returns an empty tensor of that shape, with `register_fake`."
    ),
    kinds=("missing-fake-kernel",),
    capture="export",
    fixes=("fake_kernel", "custom_operator"),
)
