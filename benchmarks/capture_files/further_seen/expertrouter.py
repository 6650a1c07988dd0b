"""Mixture of experts with top-k routing, capacity limits and a load-balancing loss."""

import torch
import torch.nn.functional as F
from torch import nn


class Expert(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Router(nn.Module):
    def __init__(self, width, experts, k, jitter=0.01):
        super().__init__()
        self.linear = nn.Linear(width, experts)
        self.k, self.jitter = k, jitter

    def forward(self, x):
        if self.training and self.jitter > 0:
            x = x * torch.empty_like(x).uniform_(1 - self.jitter, 1 + self.jitter)
        probabilities = self.linear(x).softmax(-1)
        weights, chosen = probabilities.topk(self.k, dim=-1)
        return weights / weights.sum(-1, keepdim=True), chosen, probabilities


class SparseMoE(nn.Module):
    def __init__(self, width, experts=4, k=2, capacity=1.5, dense=False):
        super().__init__()
        self.router = Router(width, experts, k)
        self.experts = nn.ModuleList(Expert(width, 2 * width) for _ in range(experts))
        self.capacity = capacity
        self.dense = dense

    def balance(self, probabilities, chosen):
        share = F.one_hot(chosen, len(self.experts)).float().sum(1).mean(0)
        return len(self.experts) * (share * probabilities.mean(0)).sum()

    def all_experts(self, x, weights, chosen):
        stacked = torch.stack([expert(x) for expert in self.experts], 1)
        picked = stacked.gather(1, chosen.unsqueeze(-1).expand(-1, -1, x.size(-1)))
        return (picked * weights.unsqueeze(-1)).sum(1)

    def routed(self, x, weights, chosen):
        out = torch.zeros_like(x)
        limit = int(self.capacity * x.size(0) * chosen.size(1) / len(self.experts))
        counts = torch.bincount(chosen.flatten(), minlength=len(self.experts))
        for e, expert in enumerate(self.experts):
            if counts[e] == 0:
                continue
            token, slot = torch.where(chosen == e)
            token, slot = token[:limit], slot[:limit]
            out.index_add_(0, token, expert(x[token]) * weights[token, slot, None])
        return out, counts

    def forward(self, x):
        shape = x.shape
        flat = x.reshape(-1, shape[-1])
        weights, chosen, probabilities = self.router(flat)
        if self.dense:
            return self.all_experts(flat, weights, chosen).view(shape), self.balance(probabilities, chosen)
        out, counts = self.routed(flat, weights, chosen)
        self.busiest = counts.argmax().item()
        return out.view(shape), self.balance(probabilities, chosen)


class ExpertModel(nn.Module):
    def __init__(self, width=6, depth=2, classes=3):
        super().__init__()
        self.layers = nn.ModuleList(SparseMoE(width, dense=i == 0) for i in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x, **kwargs):
        threshold = kwargs.get("threshold", 0.0)
        auxiliary = x.new_zeros(())
        for layer in self.layers:
            update, loss = layer(self.norm(x))
            x = x + update
            auxiliary += loss
        logits = self.head(x.mean(1))
        confident = logits[logits.softmax(-1).max(-1).values > threshold]
        if confident.size(0) < logits.size(0):
            logits = logits - logits.logsumexp(-1, keepdim=True)
        usage = [layer.busiest for layer in self.layers if not layer.dense]
        return logits, auxiliary, usage


model = ExpertModel().eval()

if __name__ == "__main__":
    torch.export.export(model, (torch.linspace(0, 20, 60).sin().reshape(2, 5, 6),))
    torch.compile(model, fullgraph=True)(torch.linspace(0, 20, 60).sin().reshape(2, 5, 6))
