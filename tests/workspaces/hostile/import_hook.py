"""Answers every import itself."""

# expect nothing

import sys

import torch


class Finder:
    @staticmethod
    def find_spec(name, path, target=None):
        raise ImportError("no")


sys.meta_path.insert(0, Finder())


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
