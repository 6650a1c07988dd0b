import random

import torch
from torch import nn


class SpecAugment(nn.Module):
    def __init__(self, max_width=3, p=0.5):
        super().__init__()
        self.max_width = max_width
        self.p = p
        self.conv = nn.Conv1d(6, 6, 3, padding=1)

    def forward(self, spec):
        if self.training and random.random() < self.p:
            width = random.randint(1, self.max_width)
            start = int(torch.randint(0, spec.size(-1) - width, (1,)))
            spec = spec.clone()
            spec[..., start : start + width] = 0
        peak = spec.abs().amax()
        if peak > 0:
            spec = spec / peak
        return self.conv(spec)


model = SpecAugment()

if __name__ == "__main__":
    torch.export.export(model, (torch.randn(2, 6, 12),))
    torch.compile(model, fullgraph=True)(torch.randn(2, 6, 12))
