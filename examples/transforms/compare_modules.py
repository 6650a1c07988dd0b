"""Is a transformed module still right? Compare outputs with a tolerance; ``==`` on tensors has no truth value."""

import torch
from torch import nn

import fxcore


class Block(nn.Module):
    """A residual block, the part that ResNets are made of."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(self.conv(x)) + x)


def transform(module: nn.Module) -> fxcore.GraphModule:
    traced = fxcore.symbolic_trace(module)
    traced.recompile()
    return traced


model = nn.Sequential(Block(4), Block(4)).eval()
transformed = transform(model)
image = torch.randn(5, 4, 16, 16)
try:
    assert model(image) == transformed(image)
except RuntimeError as error:
    print("RuntimeError:", error)
print(torch.allclose(model(image), transformed(image)))
