"""Downloads a file."""

# expect denied: using the network

import urllib.request

import torch

urllib.request.urlopen("http://127.0.0.1:9/")


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
