"""Writes what looks like an answer of the server's."""

# expect nothing

import os

import torch

os.write(1, b"Content-Length: 3\r\n\r\n{}}" * 100)
os.write(2, b"Content-Length: 3\r\n\r\n{}}" * 100)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
