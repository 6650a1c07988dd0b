"""Editing a traced module in place: its forward follows the graph once it is recompiled."""

import torch
from torch import nn

import fxcore


class Double(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mul(x, 2)


def transform(module: nn.Module) -> nn.Module:
    traced = fxcore.symbolic_trace(module)
    for node in traced.graph.find_nodes(op="call_function", target=torch.mul):
        node.args = (node.args[0], 3)
    traced.recompile()
    return traced


print(transform(Double())(torch.tensor(5)))
