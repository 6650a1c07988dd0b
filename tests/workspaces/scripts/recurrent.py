"""A loop over time, whose length a trace does not know."""
# Cell: traced
# Unrolled: failed conversion

import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.gates = nn.Linear(inputs + hidden, 2 * hidden)

    def forward(self, x, state):
        update, new = self.gates(torch.cat([x, state], 1)).chunk(2, 1)
        return torch.sigmoid(update) * state + new.tanh()


class Unrolled(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.cell = Cell(inputs, hidden)

    def forward(self, x, state):
        for step in range(x.size(1)):
            state = self.cell(x[:, step], state)
        return state
