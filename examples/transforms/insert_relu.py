"""Inserting a node after another one, and giving its value to everyone who used the first."""

import torch
from torch import nn

import fxcore


class Sum(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x + y).sum()


traced = fxcore.symbolic_trace(Sum())
(node,) = (node for node in traced.graph.nodes if node.name == "add")
with traced.graph.inserting_after(node):
    relu = traced.graph.call_function(torch.relu, args=(node,))
    node.replace_all_uses_with(relu)
    relu.args = (node,)  # the line above made relu its own input too
traced.recompile()
print(traced.code)
