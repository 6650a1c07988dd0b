"""A mixture of experts with a loop over the experts."""

import torch
from torch import nn


class Expert(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, dim * 2), nn.GELU(), nn.Linear(dim * 2, dim))

    def forward(self, x):
        if x.shape[0] == 0:
            return x
        return self.net(x)


class ExpertRouter(nn.Module):
    def __init__(self, dim=8, num_experts=3):
        super().__init__()
        self.gate = nn.Linear(dim, num_experts)
        self.experts = nn.ModuleList(Expert(dim) for _ in range(num_experts))

    def load(self, idx):
        counts = torch.bincount(idx, minlength=len(self.experts))
        return counts.tolist()

    def forward(self, x):
        weights, idx = self.gate(x).softmax(-1).max(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = torch.where(idx == i)[0]
            if rows.numel() == 0:
                continue
            out[rows] = expert(x[rows]) * weights[rows, None]
        balance = self.load(idx)
        if max(balance) > 1000:
            print("unbalanced", balance)
        return out


if __name__ == "__main__":
    model = ExpertRouter()
    model(torch.eye(8))
