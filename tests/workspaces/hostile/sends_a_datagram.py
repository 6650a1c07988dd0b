"""Sends a datagram."""

# expect denied: using the network

import socket

import torch

socket.socket(type=socket.SOCK_DGRAM).sendto(b"secret", ("127.0.0.1", 9))


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
