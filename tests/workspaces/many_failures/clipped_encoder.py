"""An encoder with sanity checks that someone left in."""

import logging

import torch
from torch import nn

log = logging.getLogger(__name__)


def check_finite(t, name):
    if not torch.isfinite(t).all():
        log.error("%s is not finite", name)
        raise RuntimeError(name)
    return t


class ClippedEncoder(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.inp = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, dim)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        x = check_finite(self.inp(x), "inp")
        norm = x.norm().item()
        log.info("norm %.3f", norm)
        if norm > 1e6:
            x = x / norm
        for k in range(3):
            x = check_finite(self.out(torch.tanh(x)), f"out{k}")
            log.debug("step %d mean %s", k, x.mean())
        if self.scale > 0.5:
            x = x * self.scale
        return x


if __name__ == "__main__":
    model = ClippedEncoder()
    model(torch.ones(4, 8))
