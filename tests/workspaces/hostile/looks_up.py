"""Looks up an address."""

# expect denied: using the network

import socket

import torch

socket.gethostbyname("localhost")


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
