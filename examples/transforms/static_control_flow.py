"""A branch that hangs on a hyper-parameter is decided while tracing, and the other side is not in the graph."""

import torch
from torch import nn

import fxcore


class MyModule(nn.Module):
    def __init__(self, do_activation: bool = False) -> None:
        super().__init__()
        self.do_activation = do_activation
        self.linear = nn.Linear(512, 512)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.linear(x)
        if self.do_activation:
            x = torch.relu(x)
        return x


print(fxcore.symbolic_trace(MyModule(do_activation=False)).code)
print(fxcore.symbolic_trace(MyModule(do_activation=True)).code)
