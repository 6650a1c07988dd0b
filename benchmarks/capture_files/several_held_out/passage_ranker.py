"""Ranks passages for a query, leaves out those that say the same, and returns the best ones."""

import torch
import torch.nn.functional as F
from torch import nn


class PassageRanker(nn.Module):
    def __init__(self, width=8, limit=3):
        super().__init__()
        self.query = nn.Linear(width, width)
        self.passage = nn.Linear(width, width)
        self.limit = limit
        self.temperature = nn.Parameter(torch.tensor(1.0))

    def forward(self, query, passages, valid):
        if not valid.any():
            return passages.new_zeros(self.limit)
        temperature = self.temperature.item()
        if temperature <= 0:
            raise ValueError("the temperature must be positive")
        passages = passages[valid]
        scores = F.cosine_similarity(self.query(query), self.passage(passages), dim=-1) / temperature
        order = scores.argsort(descending=True)
        chosen = []
        for index in order.tolist():
            candidate = passages[index]
            is_new = True
            for other in chosen:
                if torch.dot(candidate, passages[other]) > 10:
                    is_new = False
            if is_new:
                chosen.append(index)
            if len(chosen) == self.limit:
                break
        best = scores[torch.tensor(chosen)]
        print("kept", len(chosen), "passages")
        if best.numel() < self.limit:
            best = F.pad(best, (0, self.limit - best.numel()))
        return best


model = PassageRanker()

if __name__ == "__main__":
    torch.export.export(
        model,
        (torch.linspace(0, 1, 8), torch.linspace(-1, 1, 40).reshape(5, 8), torch.tensor([1, 1, 0, 1, 1]).bool()),
    )
    torch.compile(model, fullgraph=True)(
        torch.linspace(0, 1, 8), torch.linspace(-1, 1, 40).reshape(5, 8), torch.tensor([1, 1, 0, 1, 1]).bool()
    )
