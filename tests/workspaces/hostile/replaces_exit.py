"""Takes away how a process ends and how it speaks."""

# expect crash: ended the tracing process

import os
import pickle

import torch


def ignore(*args, **kwargs):
    return b""


os._exit = ignore
os.write = ignore
pickle.dumps = ignore


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
