import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        if x.shape[-1] != 8:
            raise ValueError("wrong size")
        return self.norm(x)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.head = Head()

    def forward(self, x):
        return self.head(self.body(x)) / len(x.shape)


class Gate(nn.Module):
    def forward(self, x):
        if x.sum() > 0:  # expect: fx control-flow warning
            return x
        return -x


Gate()(torch.ones(2, 4))
