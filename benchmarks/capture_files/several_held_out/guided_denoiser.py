"""Denoises a latent step by step, with guidance that is switched off when it isn't needed."""

import warnings

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x, time):
        if (time < 0).any():
            raise ValueError("a time is negative")
        return torch.tanh(self.linear(x)) * time.view(-1, 1)


class GuidedDenoiser(nn.Module):
    def __init__(self, width=8, depth=2):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.register_buffer("alphas", torch.linspace(1, 0.1, 10))

    def forward(self, latent, times, scale):
        scale = scale.item()
        noise = latent
        for index, block in enumerate(self.blocks):
            noise = block(noise, times.float())
            if index == 0 and noise.abs().max() > 100:
                warnings.warn("the noise is large")
        if scale != 1.0:
            noise = noise * scale
        alpha = self.alphas[times.long()].view(-1, 1)
        clean = (latent - noise * (1 - alpha).sqrt()) / alpha.sqrt()
        limit = torch.quantile(clean.abs(), 0.9)
        if limit > 1:
            clean = clean.clamp(-limit, limit) / limit
        for item, time in zip(clean, times):
            if time == 0:
                item.add_(0.5)
        return clean


model = GuidedDenoiser()

if __name__ == "__main__":
    torch.export.export(model, (torch.linspace(-1, 1, 16).reshape(2, 8), torch.tensor([4, 7]), torch.tensor(2.0)))
    torch.compile(model, fullgraph=True)(
        torch.linspace(-1, 1, 16).reshape(2, 8), torch.tensor([4, 7]), torch.tensor(2.0)
    )
