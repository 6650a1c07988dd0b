"""Reads what is not there."""
# Net: traced
# Embedded: unchecked
# import: import

import json
import os

import torch
from torch import nn

with open("vocabulary.json") as file:
    vocabulary = json.load(file)

class Net(nn.Module):
    def forward(self, scores):
        return torch.softmax(scores, -1).argmax(-1)


class Embedded(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(vocabulary), 8)

    def forward(self, x):
        return self.embedding(x)
