"""Models for tables and games: descriptions of columns, sizes of screens, and parts that are abstract classes."""
# Table: traced
# Screen: traced
# LinearActor: traced
# Policy: traced
# Averaged: traced

import abc
from collections import namedtuple

import torch
from torch import nn

Column = namedtuple("Column", ("name", "entries", "width"))


class Described(Column):
    def __new__(cls, name, entries, width=4):
        return super().__new__(cls, name, entries, width)


def embeddings(columns):
    tables = {}
    for column in columns:
        if not isinstance(column, Described):
            raise TypeError("unknown kind of column", type(column))
        tables[column.name] = nn.Embedding(column.entries, column.width)
    return nn.ModuleDict(tables)


class Table(nn.Module):
    def __init__(self, linear_columns, deep_columns):
        super().__init__()
        self.tables = embeddings(linear_columns + deep_columns)

    def forward(self, x):
        return sum(table(x) for table in self.tables.values())


class Screen(nn.Module):
    def __init__(self, channels, h, w):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(channels, 8, 8, 4), nn.Conv2d(8, 8, 4, 2), nn.Conv2d(8, 8, 3))
        self.head = nn.Linear(self.layers(torch.zeros(1, channels, h, w)).numel(), 2)

    def forward(self, x):
        return self.head(self.layers(x).flatten(1))


class Actor(nn.Module, abc.ABC):
    @abc.abstractmethod
    def forward(self, observed): ...

    @abc.abstractmethod
    def width(self): ...


class LinearActor(Actor):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, 4)

    def width(self):
        return 4

    def forward(self, observed):
        return self.layer(observed)


class Policy(nn.Module):
    def __init__(self, actor: Actor):
        super().__init__()
        self.actor = actor
        self.head = nn.Linear(actor.width(), 2)

    def forward(self, observed):
        return self.head(self.actor(observed))


class Averaged(nn.Module):
    def __init__(self, actors: list[Actor]):
        super().__init__()
        self.actors = nn.ModuleList(actors)

    def forward(self, observed):
        return sum(actor(observed) for actor in self.actors) / 4
