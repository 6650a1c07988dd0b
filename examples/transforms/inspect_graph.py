"""What a traced module's graph holds: one row a node, in the order of execution."""

import torch
from torch import nn

import fxcore


class TopScores(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.param = nn.Parameter(torch.rand(3, 4))
        self.linear = nn.Linear(4, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.topk(torch.sum(self.linear(x + self.linear.weight).relu(), dim=-1), 3)  # type: ignore[return-value]


traced = fxcore.symbolic_trace(TopScores())
traced.graph.print_tabular()
