"""A decorator makes sure that a module could be stored, with the arguments that it was built with."""
# Encoder: traced

import copy
import io
import pickle

from torch import nn


def storable(cls):
    constructor = cls.__init__

    def init(self, *args, **kwargs):
        constructor(self, *args, **kwargs)
        self.arguments = copy.deepcopy((args, kwargs))
        pickle.dump(self.arguments, io.BytesIO())

    cls.__init__ = init
    return cls


@storable
class Encoder(nn.Module):
    def __init__(self, width, depths, rate, act):
        super().__init__()
        if act not in ("relu", "gelu"):
            raise ValueError(act)
        self.layers = nn.Sequential(*(nn.Linear(width, width) for depth in depths for _ in range(depth)))
        self.dropout = nn.Dropout(rate)

    def forward(self, x):
        return self.dropout(self.layers(x))
