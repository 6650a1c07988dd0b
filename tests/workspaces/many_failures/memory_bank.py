"""A queue of features that is updated in forward."""

import torch
import torch.nn.functional as F
from torch import nn


class MemoryBank(nn.Module):
    def __init__(self, dim=4, size=6):
        super().__init__()
        self.proj = nn.Linear(8, dim)
        self.register_buffer("queue", F.normalize(torch.arange(dim * size).float().view(size, dim), dim=1))
        self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))
        self.size = size

    @torch.no_grad()
    def enqueue(self, keys):
        ptr = int(self.ptr)
        n = keys.shape[0]
        if ptr + n > self.size:
            ptr = 0
        self.queue[ptr : ptr + n] = keys
        self.ptr[0] = (ptr + n) % self.size

    def forward(self, x):
        q = F.normalize(self.proj(x), dim=1)
        sims = q @ self.queue.clone().t()
        best = sims.max(1).values
        if best.min() < -2:
            print("unseen sample")
        self.enqueue(q)
        hits = (best > 0.99).nonzero()
        for row in hits.tolist():
            sims[row[0]] = 0
        return sims / sims.norm().item()


if __name__ == "__main__":
    model = MemoryBank()
    model(torch.ones(2, 8))
