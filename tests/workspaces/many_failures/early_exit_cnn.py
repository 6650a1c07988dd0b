"""BranchyNet-like early exits."""

import warnings

import torch
import torch.nn.functional as F
from torch import nn


def entropy(logits):
    p = F.softmax(logits, dim=-1)
    return -(p * p.log()).sum(-1)


class Exit(nn.Module):
    def __init__(self, ch, classes):
        super().__init__()
        self.fc = nn.Linear(ch, classes)

    def forward(self, x):
        logits = self.fc(x.mean((2, 3)))
        if entropy(logits).max() > 100:
            warnings.warn("very uncertain")
        return logits


class EarlyExitCNN(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.exit1 = Exit(4, classes)
        self.body = nn.Conv2d(4, 8, 3, padding=1)
        self.exit2 = Exit(8, classes)
        self.stats = {"early": 0}

    def forward(self, x):
        x = F.relu(self.stem(x))
        y = self.exit1(x)
        conf, pred = F.softmax(y, -1).max(-1)
        if conf.min() > 0.999:
            self.stats["early"] += 1
            return y
        x = F.relu(self.body(x))
        y2 = self.exit2(x)
        agree = (y2.argmax(-1) == pred).sum().item()
        if agree > 1000:
            y2 = y2 + y
        return y2


if __name__ == "__main__":
    model = EarlyExitCNN()
    model(torch.ones(2, 3, 8, 8))
