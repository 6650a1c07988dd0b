"""Says where everything lies, which is not here."""
# model: traced
# Attention: traced

import torch
from torch import nn

device = torch.device("cuda:0")


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        assert dim % heads == 0, f"{dim} can't be divided by {heads}"
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim).cuda()
        self.scale = torch.tensor((dim // heads) ** -0.5, device=device)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)[0:3] if False else (self.qkv(x), self.qkv(x), self.qkv(x))
        return (q @ k.transpose(-2, -1) * self.scale).softmax(-1) @ v


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.position = nn.Parameter(torch.zeros(1, 16, 32, device="cuda"))
        self.attention = Attention(32, 4)

    def forward(self, x):
        return self.attention(x + self.position)


model = Model().cuda().half()
