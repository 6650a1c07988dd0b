"""VQ autoencoder for spectra: straight-through custom Function, EMA codebook, restarts of dead codes."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function


class StraightThrough(Function):
    @staticmethod
    def forward(ctx, x, quantized):
        ctx.save_for_backward(x, quantized)
        return quantized.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class GradientScale(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


class Codebook(nn.Module):
    def __init__(self, codes, width, decay=0.9, dead=0.05):
        super().__init__()
        self.codes, self.decay, self.dead = codes, decay, dead
        weight = torch.linspace(0, 30, codes * width).sin().reshape(codes, width)
        self.register_buffer("weight", weight)
        self.register_buffer("sizes", torch.ones(codes))
        self.register_buffer("sums", weight.clone())
        self.register_buffer("initialised", torch.tensor(False))

    def initialise(self, flat):
        if self.initialised:
            return
        picks = torch.arange(self.codes) % flat.size(0)
        self.weight.copy_(flat[picks])
        self.sums.copy_(self.weight)
        self.initialised.fill_(True)

    def update(self, flat, one_hot):
        self.sizes.mul_(self.decay).add_(one_hot.sum(0), alpha=1 - self.decay)
        self.sums.mul_(self.decay).add_(one_hot.t() @ flat, alpha=1 - self.decay)
        self.weight.copy_(self.sums / self.sizes.clamp(min=1e-5).unsqueeze(1))
        dead = self.sizes < self.dead
        count = dead.sum().item()
        if count:
            self.weight[dead] = flat[torch.randperm(flat.size(0))[:count]]

    def forward(self, x):
        flat = x.detach().reshape(-1, x.size(-1))
        if self.training:
            self.initialise(flat)
        distance = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.weight.t() + self.weight.pow(2).sum(1)
        index = distance.argmin(1)
        one_hot = F.one_hot(index, self.codes).to(flat.dtype)
        quantized = F.embedding(index, self.weight).view_as(x)
        if self.training:
            self.update(flat, one_hot)
        usage = one_hot.mean(0)
        perplexity = torch.exp(-(usage * (usage + 1e-10).log()).sum())
        return quantized, index.view(x.shape[:-1]), perplexity


class SpectrumVQ(nn.Module):
    def __init__(self, bins=12, width=4, codes=8, levels=2):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(bins, 8), nn.ELU(), nn.Linear(8, width))
        self.decode = nn.Sequential(nn.Linear(width, 8), nn.ELU(), nn.Linear(8, bins))
        self.levels = nn.ModuleList(Codebook(codes, width) for _ in range(levels))
        self.steps = 0

    def forward(self, spectra):
        self.steps += 1
        z = GradientScale.apply(self.encode(spectra), 0.5)
        residual, total, codes, commitment = z, torch.zeros_like(z), [], 0.0
        used = set()
        for level in self.levels:
            quantized, index, perplexity = level(residual)
            commitment = commitment + F.mse_loss(residual, quantized.detach())
            total = total + quantized
            residual = residual - quantized
            codes.append(index)
            used.update(index.flatten().tolist())
        decoded = self.decode(StraightThrough.apply(z, total))
        loss = F.mse_loss(decoded, spectra) + 0.25 * commitment
        stats = {"perplexity": f"{perplexity:.2f}", "used": len(used), "steps": self.steps}
        return decoded, torch.stack(codes, -1), loss, stats


model = SpectrumVQ()

if __name__ == "__main__":
    torch.export.export(model, (torch.linspace(0, 30, 120).sin().reshape(2, 5, 12),))
    torch.compile(model, fullgraph=True)(torch.linspace(0, 30, 120).sin().reshape(2, 5, 12))
