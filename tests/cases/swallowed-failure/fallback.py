"""Handlers that are meant for something else."""

import contextlib

from torch import Tensor, nn


class Scale(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        try:
            if x.sum() > 0:  # warning[swallowed-failure]: x.sum() > 0
                x = -x
        except ValueError:
            x = x + 1
        with contextlib.suppress(TypeError):
            x = x * int(x.shape[0])  # warning[swallowed-failure]: int(x.shape[0])
        try:
            return x / len(x)  # warning[swallowed-failure]: len(x)
        except RuntimeError:
            return x


class Careful(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        try:
            x = x / x.size(0)
        except TypeError:
            x = x + 1
        try:
            x = x * {"a": 1}["b"]
        except KeyError:
            x = x + 2
        with contextlib.suppress(ValueError):
            x = x + int("three")
        return x
