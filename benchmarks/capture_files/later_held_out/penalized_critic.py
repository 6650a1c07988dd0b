"""The critic of a generative adversarial network, with a gradient penalty and weights of a limited norm."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class ReverseGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        if gradient.abs().max() > 1e3:
            gradient = gradient.clamp(-1e3, 1e3)
        return -ctx.strength * gradient, None


class SpectralLinear(nn.Module):
    def __init__(self, channels, width, steps=2):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, channels * width).sin().reshape(width, channels))
        self.bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("u", F.normalize(torch.ones(width), dim=0))
        self.steps = steps

    def largest(self):
        with torch.no_grad():
            u = self.u
            for _ in range(self.steps):
                v = F.normalize(self.weight.t() @ u, dim=0)
                new = F.normalize(self.weight @ v, dim=0)
                moved = (new - u).norm()
                u = new
                if moved < 1e-4:
                    break
            self.u.copy_(u)
        return u @ self.weight @ v

    def forward(self, x):
        sigma = self.largest()
        weight = self.weight / sigma if sigma > 1 else self.weight
        return F.linear(x, weight, self.bias)


class Critic(nn.Module):
    def __init__(self, channels=6, width=8, depth=2, domains=3):
        super().__init__()
        widths = [channels] + [width] * depth
        self.layers = nn.ModuleList(SpectralLinear(low, high) for low, high in zip(widths, widths[1:]))
        self.score = nn.Linear(width, 1)
        self.domain = nn.Linear(width, domains)

    def forward(self, x):
        for layer in self.layers:
            x = F.leaky_relu(layer(x), 0.2)
        return self.score(x).squeeze(-1), x


class PenalizedCritic(nn.Module):
    def __init__(self, weight=10.0, seed=0):
        super().__init__()
        self.critic = Critic()
        self.weight = weight
        self.random = np.random.default_rng(seed)
        self.wasserstein = []

    def between(self, real, fake):
        share = self.random.uniform(size=(real.shape[0], 1)).astype(np.float32)
        share = torch.from_numpy(share)
        return (share * real + (1 - share) * fake).detach().requires_grad_(True)

    def penalty(self, real, fake):
        mixed = self.between(real, fake)
        with torch.enable_grad():
            score, _ = self.critic(mixed)
            (gradient,) = torch.autograd.grad(score.sum(), mixed, create_graph=True)
        return ((gradient.norm(dim=1) - 1) ** 2).mean()

    def domain_loss(self, hidden, domains):
        known = domains >= 0
        if known.sum() == 0:
            return hidden.sum() * 0
        reversed_hidden = ReverseGradient.apply(hidden[known], 0.5)
        return F.cross_entropy(self.critic.domain(reversed_hidden), domains[known])

    def forward(self, real, fake, domains):
        real_score, hidden = self.critic(real)
        fake_score, _ = self.critic(fake)
        distance = real_score.mean() - fake_score.mean()
        self.wasserstein.append(float(distance.detach()))
        loss = self.weight * self.penalty(real, fake) - distance
        try:
            loss = loss + self.domain_loss(hidden, domains)
        except IndexError as error:
            raise ValueError("a domain is unknown") from error
        return loss, sum(self.wasserstein[-10:]) / len(self.wasserstein[-10:])


model = PenalizedCritic()

if __name__ == "__main__":
    torch.export.export(
        model,
        (
            torch.linspace(-2, 2, 24).reshape(4, 6),
            torch.linspace(0, 9, 24).cos().reshape(4, 6),
            torch.tensor([0, -1, 2, 1]),
        ),
    )
    torch.compile(model, fullgraph=True)(
        torch.linspace(-2, 2, 24).reshape(4, 6),
        torch.linspace(0, 9, 24).cos().reshape(4, 6),
        torch.tensor([0, -1, 2, 1]),
    )
