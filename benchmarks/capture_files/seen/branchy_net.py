import torch
import torch.nn.functional as F
from torch import nn


def entropy(logits):
    p = F.softmax(logits, dim=-1)
    return -(p * p.clamp_min(1e-9).log()).sum(-1)


class BranchyNet(nn.Module):
    def __init__(self, exit_entropy=0.6):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU())
        self.exit1 = nn.Linear(8, 5)
        self.body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())
        self.exit2 = nn.Linear(8, 5)
        self.exit_entropy = exit_entropy

    def forward(self, images):
        x = self.stem(images)
        logits = self.exit1(x.mean((2, 3)))
        if not self.training and entropy(logits).max().item() < self.exit_entropy:
            return logits
        x = self.body(x)
        return self.exit2(x.mean((2, 3)))


model = BranchyNet().eval()

if __name__ == "__main__":
    torch.export.export(model, (torch.randn(2, 3, 8, 8),))
    torch.compile(model, fullgraph=True)(torch.randn(2, 3, 8, 8))
