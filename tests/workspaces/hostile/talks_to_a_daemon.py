"""Talks to a daemon that would do anything for it."""

# expect denied: using the network

import socket

import torch

socket.socket(socket.AF_UNIX).connect("/var/run/docker.sock")


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
