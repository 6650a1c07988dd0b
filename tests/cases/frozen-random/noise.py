"""Random numbers."""

import torch
from torch import Tensor, nn


class Noise(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = x * torch.rand(()).item()  # warning[frozen-random]: torch.rand(())
        if torch.randint(2, ()).item() == 1:  # warning[frozen-random]: torch.randint(2, ())
            x = -x
        first = torch.randperm(3)[0]  # warning[frozen-random]: torch.randperm(3)
        return x.narrow(0, int(first), 1)


class Drawn(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = x + torch.rand_like(x)
        x = x + torch.randn(x.shape)
        return torch.dropout(x, 0.5, True)
