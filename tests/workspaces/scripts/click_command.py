"""A command that would parse the command line and exit."""
# Net: traced
# import: definitions-only

import click
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x)


@click.command()
@click.option("--epochs", required=True, type=int)
def train(epochs):
    for _ in range(epochs):
        Net()(torch.rand(2, 3)).sum().backward()


train()
