"""Raises, from a function without a printable name, what no encoding has."""

# expect import: ValueError

import torch


def fail():
    raise ValueError("\x00\udcff")


fail.__code__ = fail.__code__.replace(co_name="\x00\udcff")
fail()


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
