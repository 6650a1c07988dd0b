"""Builds models of sizes that a missing package reads, in ways that fail for what stands for the sizes."""
# even: failed control-flow
# positions: traced
# Sized: traced
# import: missing-package

import tables_that_are_missing as tables
import torch
from torch import nn

table = tables.read_csv("data.csv")
columns = table.values.shape[1]
rows = int(table.size)
assert rows > 100, "too few rows"


class Even(nn.Module):
    def __init__(self, columns, width=8):
        super().__init__()
        assert columns % 2 == 0, "even"
        self.layer = nn.Linear(columns, width)

    def forward(self, x):
        return self.layer(x) if x.sum() > 0 else x


class Positions(nn.Module):
    def __init__(self, columns, rows=10):
        super().__init__()
        places = torch.zeros(rows, columns)
        places[:, 0::2] = torch.arange(0, columns, 2).float()
        self.register_buffer("places", places)

    def forward(self, x):
        return x + self.places


class Sized(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layer = nn.Linear(width, rows)

    def forward(self, x):
        return self.layer(x)


even = Even(columns)
positions = Positions(columns)
