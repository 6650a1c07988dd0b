"""Base classes that leave part of their work to subclasses, which inherit their forward."""
# Predictor: traced on a condition
# LinearPredictor: traced
# Steps: unchecked
# Branches: failed control-flow
# Checks: unchecked
# ChecksFirst: failed control-flow
# Alone: failed exception

from torch import nn


class Predictor(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.head = self.make_head(width)

    def make_head(self, width):
        raise NotImplementedError

    def forward(self, x):
        return self.head(x) * 2


class LinearPredictor(Predictor):
    def make_head(self, width):
        return nn.Linear(width, 4)


class Steps(nn.Module):
    """What fails is not in this class."""

    def forward(self, x):
        return self.step(x) + 1

    def step(self, x):
        raise NotImplementedError


class Branches(Steps):
    def step(self, x):
        return x if x.sum() > 0 else -x


class Checks(nn.Module):
    """What fails is in this class, but the subclass may have had a part in it."""

    def __init__(self, width):
        super().__init__()
        self.head = self.make_head(width)

    def make_head(self, width):
        raise NotImplementedError

    def forward(self, x):
        if x.sum() > 0:
            x = -x
        return self.head(x)


class ChecksFirst(Checks):
    def make_head(self, width):
        return nn.Linear(width, 4)


class Alone(nn.Module):
    """It has no subclasses that it could leave anything to."""

    def forward(self, x):
        return self.step(x) + 1

    def step(self, x):
        raise NotImplementedError
