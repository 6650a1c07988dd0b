"""Serves what it finds."""

# expect denied: using the network

import http.server

import torch

http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
