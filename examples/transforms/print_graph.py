"""Three ways to look at a traced module: its code, its graph, and the graph as a table."""

import torch
from torch import nn

import fxcore


class M(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


def transform_graph(module: nn.Module, tracer_class: type[fxcore.Tracer] = fxcore.Tracer) -> nn.Module:
    graph = tracer_class().trace(module)
    # a transform goes here
    return fxcore.GraphModule(module, graph)


traced = fxcore.symbolic_trace(M())
print(traced)
print(traced.graph)
traced.graph.print_tabular()
print(transform_graph(traced))
