"""Ways to write a forward that are easily passed over."""
# Static: failed call-binding
# Host: traced on a condition
# Inheriting: traced
# InheritingFailure: failed control-flow
# Initialized: traced

import torch
from torch import nn


class Static(nn.Module):
    @staticmethod
    def forward(x):
        return x + 1


class Host(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 3)

    def act(self, x):
        raise NotImplementedError

    def forward(self, x):
        return self.act(self.layer(x))


class Inheriting(Host):
    def act(self, x):
        return torch.relu(x)


class InheritingFailure(Host):
    def act(self, x):
        return torch.relu(x) if x.mean() > 0 else x


class Initialized(nn.Linear):
    def reset_parameters(self):
        nn.init.zeros_(self.weight)
