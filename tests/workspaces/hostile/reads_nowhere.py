"""Reads from where there is no memory."""

# expect crash: SIGSEGV

import ctypes
import faulthandler

import torch


class Net(torch.nn.Module):
    def forward(self, x):
        faulthandler.disable()
        ctypes.string_at(0)
        return x.relu()
