"""Recommends articles to visitors: their properties are hashed, and the articles that they know are left out."""

import logging
import zlib

import torch
import torch.nn.functional as F
from torch import nn

logger = logging.getLogger(__name__)

SEGMENTS = {0: "new", 1: "casual", 2: "loyal"}


class HashedFeatures(nn.Module):
    def __init__(self, names, buckets, width):
        super().__init__()
        self.names = names
        self.buckets = buckets
        self.table = nn.EmbeddingBag(buckets, width, mode="mean")

    def bucket(self, name, value):
        return zlib.crc32(f"{name}={value}".encode()) % self.buckets

    def forward(self, features):
        for name in features:
            if name not in self.names:
                logger.warning("the feature %s isn't used", name)
        rows = []
        for values in zip(*(features[name] for name in self.names)):
            rows.append([self.bucket(name, value) for name, value in zip(self.names, values)])
        return self.table(torch.tensor(rows))


class History(nn.Module):
    def __init__(self, articles, width, decay=0.8):
        super().__init__()
        self.embed = nn.Embedding(articles, width, padding_idx=0)
        self.decay = decay

    def forward(self, clicks):
        pooled = []
        for row in clicks:
            row = row[row != 0]
            if len(row) == 0:
                pooled.append(self.embed.weight.mean(dim=0))
                continue
            weights = self.decay ** torch.arange(len(row), dtype=torch.float)
            pooled.append((self.embed(row) * weights.unsqueeze(1)).sum(dim=0) / weights.sum())
        return torch.stack(pooled)


class Recommender(nn.Module):
    def __init__(self, names=("country", "device"), articles=12, buckets=32, width=8, best=3):
        super().__init__()
        self.features = HashedFeatures(names, buckets, width)
        self.history = History(articles, width)
        self.boosts = nn.ParameterDict({name: nn.Parameter(torch.ones(width)) for name in SEGMENTS.values()})
        self.mix = nn.Linear(2 * width, width)
        self.best = best

    def boost(self, segments):
        return torch.stack([self.boosts[SEGMENTS[segment.item()]] for segment in segments])

    def forward(self, features, clicks, segments, popular):
        visitor = torch.cat([self.features(features), self.history(clicks)], dim=1)
        visitor = self.mix(visitor) * self.boost(segments)
        candidates = torch.unique(torch.cat([clicks.flatten(), popular]))
        candidates = candidates[candidates > 0]
        scores = F.normalize(visitor, dim=1) @ F.normalize(self.history.embed(candidates), dim=1).t()
        recommended, values = [], []
        for score, known in zip(scores, clicks):
            fresh = ~torch.isin(candidates, known)
            if fresh.sum() < self.best:
                recommended.append(popular[: self.best])
                values.append(torch.zeros(self.best))
                continue
            top = score.masked_fill(~fresh, -torch.inf).topk(self.best)
            recommended.append(candidates[top.indices])
            values.append(top.values)
        return torch.stack(recommended), torch.stack(values)


model = Recommender().eval()

if __name__ == "__main__":
    torch.export.export(
        model,
        (
            {"country": ["fi", "se", "fi"], "device": ["phone", "desk", "desk"]},
            torch.tensor([[3, 5, 0, 0], [0, 0, 0, 0], [1, 2, 4, 7]]),
            torch.tensor([1, 0, 2]),
            torch.tensor([2, 6, 9, 5]),
        ),
    )
    torch.compile(model, fullgraph=True)(
        {"country": ["fi", "se", "fi"], "device": ["phone", "desk", "desk"]},
        torch.tensor([[3, 5, 0, 0], [0, 0, 0, 0], [1, 2, 4, 7]]),
        torch.tensor([1, 0, 2]),
        torch.tensor([2, 6, 9, 5]),
    )
