"""The smallest transform: walk the graph's nodes and change one function for another."""

import torch
from torch import nn

import fxcore


class Add(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.add(x, y)


def transform(module: nn.Module, tracer_class: type[fxcore.Tracer] = fxcore.Tracer) -> nn.Module:
    graph = tracer_class().trace(module)
    for node in graph.nodes:
        if node.op == "call_function" and node.target is torch.add:
            node.target = torch.mul
    graph.lint()
    return fxcore.GraphModule(module, graph)


product = transform(Add())
print(product.code)
print(product(torch.tensor(3.0), torch.tensor(4.0)))
