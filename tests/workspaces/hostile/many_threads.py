"""Starts threads without end."""

# expect import: can't start new thread

import threading
import time

import torch

while True:
    threading.Thread(target=time.sleep, args=(1000,)).start()


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
