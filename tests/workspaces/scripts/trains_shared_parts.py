"""It has arguments of several groups, and builds the models of another script with them."""
# Critic: traced

import argparse

from shared_parts import *

parser = argparse.ArgumentParser()
sizes = parser.add_argument_group("sizes")
sizes.add_argument("--width", type=int, default=8)
parser.add_argument("--depth", type=int, default=3)
opt = parser.parse_args()

half = opt.width // 2
shared = Part(opt.width)
reader = Reader(opt.width, depth=opt.depth, shared=shared)
writer = Writer(width=opt.width, shared=shared)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(half, 1)

    def forward(self, x):
        return self.layer(x)
