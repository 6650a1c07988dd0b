"""A vision transformer that drops patches which get little attention, with stochastic depth and checkpointed blocks."""

import random

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).reshape(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5).softmax(-1)
        mixed = (weights @ v).transpose(1, 2).reshape(batch, tokens, width)
        return self.output(mixed), weights[:, :, 0, 1:].mean(1)


class DropPath(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, update):
        if self.training and random.random() < self.rate:
            return torch.zeros_like(update)
        return update


class Block(nn.Module):
    def __init__(self, width, heads, rate):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.attention = Attention(width, heads)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.drop = DropPath(rate)

    def forward(self, x):
        update, importance = self.attention(self.norms[0](x))
        x = x + self.drop(update)
        return x + self.drop(self.feed(self.norms[1](x))), importance


class Pruner(nn.Module):
    def __init__(self, mass, fewest):
        super().__init__()
        self.mass = mass
        self.fewest = fewest
        self.kept = []

    def forward(self, x, importance):
        shares, order = (importance / importance.sum(1, keepdim=True)).sort(dim=1, descending=True)
        needed = (shares.cumsum(1) < self.mass).sum(1) + 1
        number = max(needed.max().item(), self.fewest)
        self.kept.append(number)
        if number >= x.shape[1] - 1:
            return x
        chosen = order[:, :number].sort(dim=1).values
        patches = x[:, 1:].gather(1, chosen.unsqueeze(-1).expand(-1, -1, x.shape[-1]))
        return torch.cat([x[:, :1], patches], dim=1)


class PrunedTransformer(nn.Module):
    def __init__(self, size=16, patch=4, width=8, depth=3, heads=2, classes=3):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.start = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.linspace(-1, 1, (size // patch) ** 2).reshape(1, -1, 1))
        self.blocks = nn.ModuleList(Block(width, heads, 0.2 * index / depth) for index in range(depth))
        self.pruners = nn.ModuleDict({"1": Pruner(0.6, 4), "2": Pruner(0.4, 2)})
        self.head = nn.Linear(width, classes)

    def forward(self, images):
        low, high = images.aminmax()
        if low < 0 or high > 1:
            images = (images - low) / (high - low)
        x = self.patches(images).flatten(2).transpose(1, 2) + self.positions
        x = torch.cat([self.start.expand(x.shape[0], -1, -1), x], dim=1)
        for index, block in enumerate(self.blocks):
            x, importance = checkpoint(block, x, use_reentrant=False)
            if str(index) in self.pruners:
                x = self.pruners[str(index)](x, importance)
        logits = self.head(x[:, 0])
        certainty = logits.softmax(-1).amax(1)
        unsure = [image for image, value in enumerate(certainty) if value < 0.5]
        return logits, x[:, 1:], unsure


model = PrunedTransformer().train()

if __name__ == "__main__":
    torch.export.export(model, (torch.linspace(0, 90, 1536).sin().reshape(2, 3, 16, 16),))
    torch.compile(model, fullgraph=True)(torch.linspace(0, 90, 1536).sin().reshape(2, 3, 16, 16))
