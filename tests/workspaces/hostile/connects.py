"""Connects to a server."""

# expect denied: using the network

import socket

import torch

socket.create_connection(("127.0.0.1", 9))


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
