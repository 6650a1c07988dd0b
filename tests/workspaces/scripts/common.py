"""What other scripts take everything from."""
# Swish: traced

import torch
from torch import nn


class Swish(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)
