"""Tabular classifier: embeddings of categories with hashed strings for unknowns, dates and piecewise numbers."""

import hashlib
import warnings
from dataclasses import dataclass

import torch
from einops import rearrange, reduce
from torch import nn


@dataclass
class Column:
    name: str
    cardinality: int
    width: int = 4


COLUMNS = [Column("country", 7), Column("device", 4), Column("plan", 3)]


def bucket(text, size):
    return int(hashlib.md5(text.encode()).hexdigest(), 16) % size


class Categories(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.columns = columns
        self.tables = nn.ModuleDict({c.name: nn.Embedding(c.cardinality + 1, c.width) for c in columns})

    def clean(self, values, column):
        unknown = (values < 0) | (values >= column.cardinality)
        if unknown.any():
            warnings.warn(f"{int(unknown.sum())} unknown values in column {column.name}")
        return torch.where(unknown, torch.full_like(values, column.cardinality), values)

    def forward(self, codes):
        return torch.stack(
            [self.tables[c.name](self.clean(codes[:, i], c)) for i, c in enumerate(self.columns)], dim=1
        )


class Piecewise(nn.Module):
    def __init__(self, features, bins, width):
        super().__init__()
        self.register_buffer("edges", torch.linspace(-1, 1, bins + 1).repeat(features, 1))
        self.weight = nn.Parameter(torch.randn(features, bins, width) * 0.1)

    def forward(self, x):
        left, right = self.edges[:, :-1], self.edges[:, 1:]
        share = ((x.unsqueeze(-1) - left) / (right - left)).clamp(0, 1)
        return torch.einsum("bfk,fkw->bfw", share, self.weight)


class MixerBlock(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
        self.channels = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        y = rearrange(self.norm(x), "b t c -> b c t")
        x = x + rearrange(self.tokens(y), "b c t -> b t c")
        return x + self.channels(self.norm(x))


class TabularMixer(nn.Module):
    def __init__(self, columns=COLUMNS, numbers=3, bins=5, width=4, classes=2, tags=16):
        super().__init__()
        self.categories = Categories(columns)
        self.numbers = Piecewise(numbers, bins, width)
        self.tags = nn.EmbeddingBag(tags, width, mode="mean")
        tokens = len(columns) + numbers + 1
        self.blocks = nn.Sequential(MixerBlock(tokens, width), MixerBlock(tokens, width))
        self.head = nn.Linear(width, classes)
        self.temperature = nn.Parameter(torch.ones(()))

    def impute(self, numbers):
        missing = torch.isnan(numbers)
        filled = numbers.clone()
        for j in range(numbers.shape[1]):
            column = numbers[:, j]
            known = column[~missing[:, j]]
            middle = known.median() if len(known) else 0.0
            filled[missing[:, j], j] = middle
        return filled

    def embed_tags(self, tags):
        flat, offsets = [], []
        for row in tags:
            offsets.append(len(flat))
            flat.extend(bucket(tag.lower(), self.tags.num_embeddings) for tag in row)
        return self.tags(torch.tensor(flat), torch.tensor(offsets))

    def forward(self, codes, numbers, tags):
        tokens = torch.cat(
            (self.categories(codes), self.numbers(self.impute(numbers)), self.embed_tags(tags).unsqueeze(1)), dim=1
        )
        pooled = reduce(self.blocks(tokens), "b t c -> b c", "mean")
        return self.head(pooled) / max(self.temperature, 0.05)


model = TabularMixer().eval()

if __name__ == "__main__":
    torch.export.export(
        model,
        (
            torch.tensor([[0, 3, 2], [6, 9, 1]]),
            torch.tensor([[0.2, float("nan"), -0.4], [0.9, 0.1, 0.3]]),
            [["Sport", "news"], ["music"]],
        ),
    )
    torch.compile(model, fullgraph=True)(
        torch.tensor([[0, 3, 2], [6, 9, 1]]),
        torch.tensor([[0.2, float("nan"), -0.4], [0.9, 0.1, 0.3]]),
        [["Sport", "news"], ["music"]],
    )
