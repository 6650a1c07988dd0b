"""Fake quantization with observers."""

import torch
from torch import nn


class Observer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("low", torch.tensor(0.0))
        self.register_buffer("high", torch.tensor(0.0))
        self.enabled = True

    def forward(self, x):
        lo, hi = x.min(), x.max()
        if lo < self.low:
            self.low.copy_(lo)
        if hi > self.high:
            self.high.copy_(hi)
        return x

    def qparams(self):
        span = (self.high - self.low).item()
        if span == 0:
            return 1.0, 0
        scale = span / 255
        return scale, int(-self.low / scale)


class Quantizer(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.obs = Observer()

    def forward(self, x):
        x = self.obs(self.fc(x))
        scale, zero = self.obs.qparams()
        if zero < 0 or zero > 255:
            print("bad zero point", zero)
        return torch.fake_quantize_per_tensor_affine(x, scale, max(0, min(255, zero)), 0, 255)


if __name__ == "__main__":
    model = Quantizer()
    model(torch.ones(2, 6))
