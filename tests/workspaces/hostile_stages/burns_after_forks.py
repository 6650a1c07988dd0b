"""A constructor after which each fork starts a thread that computes without an end."""

import os
import threading

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        os.register_at_fork(after_in_parent=lambda: threading.Thread(target=burn, daemon=True).start())

    def forward(self, x):
        return x / len(x)


def burn():
    while True:
        pass
