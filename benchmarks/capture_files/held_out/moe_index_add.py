import torch
from torch import nn


class Expert(nn.Sequential):
    def __init__(self, dim):
        super().__init__(nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim))


class SparseMoe(nn.Module):
    def __init__(self, dim=8, num_experts=4, top_k=2):
        super().__init__()
        self.gate = nn.Linear(dim, num_experts)
        self.experts = nn.ModuleList(Expert(dim) for _ in range(num_experts))
        self.top_k = top_k

    def forward(self, x):
        b, t, d = x.shape
        flat = x.reshape(-1, d)
        weights, chosen = self.gate(flat).softmax(-1).topk(self.top_k, dim=-1)
        out = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == i)
            if token.shape[0] == 0:
                continue
            out.index_add_(0, token, expert(flat[token]) * weights[token, slot, None])
        return out.view(b, t, d)


model = SparseMoe()

if __name__ == "__main__":
    torch.export.export(model, (torch.randn(2, 5, 8),))
    torch.compile(model, fullgraph=True)(torch.randn(2, 5, 8))
