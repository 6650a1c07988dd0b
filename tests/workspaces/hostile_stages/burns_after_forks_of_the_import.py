"""A file after whose import each fork starts a thread that computes without an end."""

import os
import threading

import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return x / len(x)


def burn():
    while True:
        pass


os.register_at_fork(after_in_parent=lambda: threading.Thread(target=burn, daemon=True).start())
