"""Two mistakes that no way of building it would mend."""
# Scaled: failed exception
# Summed: failed iteration

from torch import nn


class Scaled(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 1)

    def forward(self, x):
        return self.layer(x) * scale


class Summed(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 1)

    def forward(self, x):
        return sum(self.layer(row) for row in x)
