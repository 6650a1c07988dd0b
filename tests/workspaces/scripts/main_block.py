"""Options that only the main block parses are read by the classes."""
# Net: traced
# Other: traced
# Trained: failed control-flow

import argparse

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(args.width, channels)

    def forward(self, x):
        return self.layer(x).to(args.device)


class Other(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(depth, 1)

    def forward(self, x):
        return self.layer(x)


class Trained(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(args.width, 1)

    def forward(self, x):
        if x.sum() > args.width:
            return x
        return self.layer(x)


def train(options):
    result = 0
    while True:
        result += options.width


def main():
    global depth
    depth = 3
    train(args)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    channels = args.width // 2
    result = train(args)
    data = torch.load(args.data)
    main()
