"""Leaves a thread at work."""

# expect nothing

import threading

import torch


def work():
    while True:
        pass


threading.Thread(target=work).start()


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
