from dataclasses import dataclass
from typing import List, Optional

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class ClassifierOutput:
    logits: torch.Tensor
    loss: Optional[torch.Tensor] = None
    hidden: Optional[List[torch.Tensor]] = None


class Classifier(nn.Module):
    def __init__(self, dim=6, labels=4):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(dim, dim) for _ in range(2)])
        self.head = nn.Linear(dim, labels)

    def forward(self, x, labels=None):
        hidden = []
        for layer in self.layers:
            x = F.gelu(layer(x))
            hidden.append(x)
        logits = self.head(x)
        loss = None
        if labels is not None:
            valid = labels >= 0
            if valid.any():
                loss = F.cross_entropy(logits[valid], labels[valid])
            else:
                loss = logits.sum() * 0
        return ClassifierOutput(logits, loss, hidden)


model = Classifier()

if __name__ == "__main__":
    torch.export.export(model, (torch.randn(3, 6), torch.tensor([1, -1, 3])))
    torch.compile(model, fullgraph=True)(torch.randn(3, 6), torch.tensor([1, -1, 3]))
