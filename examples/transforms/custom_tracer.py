"""A tracer of one's own: its methods decide what is recorded. ``trace`` gives a graph; GraphModule makes it run."""

import torch
from torch import nn

import fxcore


class MyCustomTracer(fxcore.Tracer):
    """Nothing is overridden yet: this one traces as the default does."""


class MyModule(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) + torch.ones(3, 4)


module = MyModule()
graph = MyCustomTracer().trace(module)
traced = fxcore.GraphModule(module, graph)
print(traced.code)
x = torch.randn(3, 4)
print(torch.equal(traced(x), module(x)))
