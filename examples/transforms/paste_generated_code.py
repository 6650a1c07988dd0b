"""Generated code is plain Python: print it, paste it into a subclass, and compare."""

import torch
from torch import nn

import fxcore


class M(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.x = nn.Parameter(torch.ones(2))

    def forward(self, y: torch.Tensor) -> torch.Tensor:
        return self.x + y


traced = fxcore.symbolic_trace(M())
print(traced)


class SubclassM(M):
    def forward(self, y: torch.Tensor) -> torch.Tensor:
        x = self.x
        add = x + y
        x = y = None  # type: ignore[assignment]
        return add


y = torch.tensor([1.0, 2.0])
print(torch.equal(M()(y), SubclassM()(y)))
