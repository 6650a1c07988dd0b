"""Options are read while the file is imported, and its classes hang on them."""
# Net: traced
# Tagger: unchecked
# Reader: traced
# Unnumbered: unchecked
# Unset: unchecked

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("corpus", help="where the texts lie")
parser.add_argument("--width", type=int, default=16)
parser.add_argument("--cpu", action="store_true")
opt = parser.parse_args()
device = "cpu" if opt.cpu else "cuda"
if opt.corpus == "letters":
    channels = 1
elif opt.corpus == "faces":
    channels = 3
if opt.corpus == "letters":
    source = open("letters.txt")

    def read():
        letters = 26
        return source.read(letters)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(opt.width, 1).to(device)

    def forward(self, x):
        return self.layer(x)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(opt.corpus), opt.width)

    def forward(self, x):
        return self.embedding(x)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(channels, 4, 1)

    def forward(self, x):
        return self.layer(x)


class Unnumbered(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Embedding(len(source.read()), 4)

    def forward(self, x):
        return self.layer(x)


class Unset(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(letters, 4)

    def forward(self, x):
        return self.layer(x)
