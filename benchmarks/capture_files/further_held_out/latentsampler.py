"""Latent diffusion sampler: a DDIM loop with classifier-free guidance, dynamic thresholding and a callback."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def cosine_alphas(steps):
    t = np.linspace(0, 1, steps + 1)
    curve = np.cos((t + 0.008) / 1.008 * np.pi / 2) ** 2
    return torch.from_numpy(np.clip(curve[1:] / curve[0], 1e-4, 0.9999)).float()


def timestep_embedding(t, width):
    half = width // 2
    rate = torch.exp(-math.log(10000) * torch.arange(half, device=t.device) / half)
    angle = t.float()[:, None] * rate[None]
    return torch.cat((angle.cos(), angle.sin()), -1)


class Block(nn.Module):
    def __init__(self, channels, width):
        super().__init__()
        self.norm = nn.GroupNorm(2, channels)
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.film = nn.Linear(width, 2 * channels)

    def forward(self, x, condition):
        scale, shift = self.film(condition)[:, :, None, None].chunk(2, 1)
        return x + self.conv(F.silu(self.norm(x) * (1 + scale) + shift))


class Denoiser(nn.Module):
    def __init__(self, channels=4, width=8, classes=5, depth=2):
        super().__init__()
        self.width = width
        self.label = nn.Embedding(classes + 1, width)
        self.time = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.blocks = nn.ModuleList(Block(channels, width) for _ in range(depth))

    def forward(self, x, t, labels):
        condition = self.time(timestep_embedding(t, self.width)) + self.label(labels)
        for block in self.blocks:
            x = block(x, condition)
        return x


class Sampler(nn.Module):
    def __init__(self, steps=20, classes=5, guidance=2.0, percentile=0.95):
        super().__init__()
        self.denoiser = Denoiser(classes=classes)
        self.register_buffer("alphas", cosine_alphas(steps))
        self.steps, self.classes, self.guidance, self.percentile = steps, classes, guidance, percentile

    def schedule(self, count):
        return np.linspace(self.steps - 1, 0, count).round().astype(int)

    def guided(self, x, t, labels):
        both = self.denoiser(
            torch.cat((x, x)), torch.cat((t, t)), torch.cat((labels, torch.full_like(labels, self.classes)))
        )
        conditional, free = both.chunk(2)
        return free + self.guidance * (conditional - free)

    def threshold(self, x):
        s = torch.quantile(x.abs().flatten(1), self.percentile, dim=1)
        if s.max() <= 1.0:
            return x.clamp(-1, 1)
        s = s.clamp(min=1.0).view(-1, 1, 1, 1)
        return x.clamp(-s, s) / s

    @torch.inference_mode()
    def forward(self, labels, count=4, seed=0, callback=None):
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(labels.shape[0], 4, 4, 4, generator=generator)
        times = self.schedule(count)
        for i, step in enumerate(times):
            t = torch.full((labels.shape[0],), int(step), dtype=torch.long)
            alpha = self.alphas[step]
            last = i + 1 == len(times)
            following = torch.ones(()) if last else self.alphas[times[i + 1]]
            noise = self.guided(x, t, labels)
            clean = self.threshold((x - (1 - alpha).sqrt() * noise) / alpha.sqrt())
            sigma = float(((1 - following) / (1 - alpha)).clamp(min=0))
            x = following.sqrt() * clean + (1 - following).sqrt() * noise
            if sigma > 0.9 and not last:
                x = x + 0.01 * torch.randn(x.shape, generator=generator)
            if callback is not None:
                callback(i, x.cpu().numpy())
        return (x.clamp(-1, 1) + 1).mul(127.5).round().to(torch.uint8)


model = Sampler().eval()

if __name__ == "__main__":
    torch.export.export(model, (torch.tensor([1, 3]),))
    torch.compile(model, fullgraph=True)(torch.tensor([1, 3]))
