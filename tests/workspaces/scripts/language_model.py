"""A configuration object with defaults, and a check of lengths."""
# Norm: traced
# Block: traced
# Transformer: failed control-flow

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class ModelConfig:
    vocabulary: int = 64
    context: int = 16
    width: int = 32
    heads: int = 4
    depth: int = 2
    bias: bool = False


class Norm(nn.Module):
    def __init__(self, width, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x):
        return nn.functional.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.width % config.heads == 0
        self.norm = Norm(config.width, bias=config.bias)
        self.mix = nn.Linear(config.width, config.width, bias=config.bias)

    def forward(self, x):
        return x + self.mix(self.norm(x))


class Transformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.depth)])

    def forward(self, tokens):
        assert tokens.size(1) <= self.config.context, "the text is too long"
        x = self.tokens(tokens)
        for block in self.blocks:
            x = block(x)
        return x
