"""Constructors that do something impossible, whatever arguments they get; and some that arguments may help."""
# Base: traced
# UnknownKeyword: not-built
# TooMany: not-built
# TooFew: not-built
# Deeper: not-built
# InBranch: unchecked
# InLoop: unchecked
# InLoopByDefault: not-built
# InLoopOfThree: not-built
# InLoopOverItems: unchecked
# InLoopOverTheRest: traced
# InLoopAfterBreak: traced
# InComprehension: not-built
# InGenerator: not-built
# InFilteredComprehension: traced
# AmongConditions: not-built
# InCondition: traced
# AfterReturn: traced
# Unpacked: unchecked
# OwnFunction: traced
# RemovedName: not-built
# RemovedNameOfNumpy: not-built
# RemovedNameInBranch: traced
# NameThatAnArgumentSays: unchecked
# InMethod: not-built
# InMethodThatAnArgumentIs: traced
# ReadOnly: not-built
# ReadOnlyInBranch: traced
# ReadOnlyOfItsOwn: unchecked
# NeverSet: not-built
# NeverSetInBranch: traced
# SetByItsName: unchecked

import math

import numpy as np
import torch
from torch import nn


class Base(nn.Module):
    def __init__(self, width, depth=1):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(width, width) for _ in range(depth)))

    def forward(self, x):
        return self.layers(x)


class UnknownKeyword(Base):
    def __init__(self, width):
        super().__init__(width, heads=4)


class TooMany(Base):
    def __init__(self, width, depth, heads):
        super(TooMany, self).__init__(width, depth, heads)


class TooFew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.base = Base()

    def forward(self, x):
        return self.base(x)


class Deeper(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.base = TooFew(width)

    def forward(self, x):
        return self.base(x)


class InBranch(Base):
    def __init__(self, width):
        super().__init__(width)
        if width > 0:
            self.more = Base(width, heads=4)


class InLoop(Base):
    def __init__(self, width, depth):
        super().__init__(width)
        for _ in range(depth):
            self.more = Base(width, heads=4)


class InLoopByDefault(Base):
    def __init__(self, width, depth=2):
        super().__init__(width)
        for _ in range(depth):
            self.more = Base(width, heads=4)


class InLoopOfThree(Base):
    def __init__(self, width):
        super().__init__(width)
        for _ in range(3):
            self.more = Base(width, heads=4)


class InLoopOverItems(Base):
    def __init__(self, width, extra_heads):
        super().__init__(width)
        for _ in extra_heads:
            self.more = Base(width, heads=4)


class InLoopOverTheRest(Base):
    def __init__(self, width, depth):
        super().__init__(width)
        for _ in range(1, depth):
            self.more = Base(width, heads=4)


class InLoopAfterBreak(Base):
    def __init__(self, width, depth):
        super().__init__(width)
        for at in range(depth):
            if width % 2 == at:
                break
            if width % 3 != at:
                self.skipped = at
            self.more = Base(width, heads=4)


class InComprehension(nn.Module):
    def __init__(self, width, depth=2):
        super().__init__()
        self.layers = nn.Sequential(
            *[
                Base(
                    width,
                    heads=4,
                )
                for _ in range(depth)
            ]
        )

    def forward(self, x):
        return self.layers(x)


class InGenerator(nn.Module):
    def __init__(self, width, depth=2):
        super().__init__()
        self.layers = nn.ModuleList(Base(width, heads=4) for _ in range(depth))

    def forward(self, x):
        return x


class InFilteredComprehension(nn.Module):
    def __init__(self, width, depth, last):
        super().__init__()
        self.layers = nn.ModuleList([Base(width, heads=4) for at in range(depth) if at != last])

    def forward(self, x):
        return x


class AmongConditions(Base):
    def __init__(self, width, shifts):
        super().__init__(width if shifts else 2 * width, heads=4)


class InCondition(Base):
    def __init__(self, width, shifts):
        super().__init__(width)
        self.more = Base(width, heads=4) if shifts else None


class AfterReturn(Base):
    def __init__(self, width):
        super().__init__(width)
        if width % 2 == 0:
            return
        if width % 3 == 1:
            return
        self.more = Base(width, heads=4)


class Unpacked(Base):
    def __init__(self, width, options):
        super().__init__(width, **options, heads=4)


class OwnFunction(Base):
    def __init__(self, width, make):
        super().__init__(width)
        self.more = make(width, heads=4)


def removed(width):
    return math.removed_long_ago(width)


class RemovedName(Base):
    def __init__(self, width):
        super().__init__(width)
        self.scale = removed(width)


class RemovedNameOfNumpy(Base):
    def __init__(self, width):
        super().__init__(np.int(width))


class RemovedNameInBranch(Base):
    def __init__(self, width, old):
        super().__init__(width)
        if old:
            self.scale = removed(width)


class NameThatAnArgumentSays(Base):
    def __init__(self, width, rounding_function):
        super().__init__(width)
        self.scale = getattr(math, f"{rounding_function}_of_old")


class InMethod(Base):
    def __init__(self, width):
        super().__init__(width)
        self.fill()

    def fill(self):
        self.more = Base(4, heads=4)


class InMethodThatAnArgumentIs(Base):
    def __init__(self, width, fill):
        super().__init__(width)
        self.fill = fill
        self.fill(width)


class ReadOnly(torch.distributions.Normal, Base):
    def __init__(self, width):
        Base.__init__(self, width)
        self.mean = width


class ReadOnlyInBranch(torch.distributions.Normal, Base):
    def __init__(self, width, old):
        Base.__init__(self, width)
        if old:
            self.mean = width


class ReadOnlyOfItsOwn(Base):
    def __init__(self, width):
        super().__init__(width)
        self.scale = width

    @property
    def scale(self):
        return 2


class NeverSet(Base):
    def __init__(self, width):
        super().__init__(width)
        self.apply(self.fill_weights)


class NeverSetInBranch(Base):
    def __init__(self, width, old):
        super().__init__(width)
        if old:
            self.apply(self.fill_weights)


class SetByItsName(Base):
    def __init__(self, width, names):
        super().__init__(width)
        for name in names:
            setattr(self, name, width)
        self.sizes = self.height, width
