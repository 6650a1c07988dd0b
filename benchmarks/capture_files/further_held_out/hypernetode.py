"""Neural ODE with an adaptive step solver, gradients inside forward and inputs clamped in place."""

import torch
from torch import nn


class Tracker:
    def __init__(self):
        self.accepted = self.rejected = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def __str__(self):
        return f"{self.accepted}+{self.rejected}"


class HyperLinear(nn.Module):
    def __init__(self, width, context):
        super().__init__()
        self.width = width
        self.weight = nn.Linear(context, width * width)
        self.bias = nn.Linear(context, width)

    def forward(self, x, context):
        w = self.weight(context).view(-1, self.width, self.width)
        return torch.bmm(w, x.unsqueeze(-1)).squeeze(-1) + self.bias(context)


class Field(nn.Module):
    def __init__(self, width, context):
        super().__init__()
        self.first = HyperLinear(width, context)
        self.second = nn.Linear(width + 1, width)
        self.calls = 0

    def forward(self, t, y, context):
        self.calls += 1
        y = torch.tanh(self.first(y, context))
        return self.second(torch.cat((y, t.expand(y.shape[0], 1)), -1))


class AdaptiveHeun(nn.Module):
    def __init__(self, field, rtol=1e-2, atol=1e-3, longest=30):
        super().__init__()
        self.field = field
        self.rtol, self.atol, self.longest = rtol, atol, longest

    def step(self, t, y, h, context):
        k1 = self.field(t, y, context)
        k2 = self.field(t + h, y + h * k1, context)
        new = y + 0.5 * h * (k1 + k2)
        error = 0.5 * h * (k2 - k1)
        scale = self.atol + self.rtol * torch.maximum(y.abs(), new.abs())
        return new, (error / scale).pow(2).mean().sqrt()

    def forward(self, y, t0, t1, context, tracker):
        t, h = t0, (t1 - t0) / 4
        for _ in range(self.longest):
            if t >= t1:
                break
            h = torch.minimum(h, t1 - t)
            new, error = self.step(t, y, h, context)
            if error <= 1:
                t, y = t + h, new
                tracker.accepted += 1
            else:
                tracker.rejected += 1
            h = h * (0.9 / error.clamp(min=1e-4).sqrt()).clamp(0.2, 3.0)
        return y


class PhysicsODE(nn.Module):
    def __init__(self, width=4, context=3):
        super().__init__()
        self.solver = AdaptiveHeun(Field(width, context))
        self.potential = nn.Sequential(nn.Linear(width, 8), nn.Tanh(), nn.Linear(8, 1))
        self.tracker = Tracker()

    def force(self, y):
        with torch.enable_grad():
            y = y.detach().requires_grad_(True)
            energy = self.potential(y).sum()
            (gradient,) = torch.autograd.grad(energy, y, create_graph=self.training)
        return -gradient

    def forward(self, y, context, times):
        if not torch.all(times[1:] > times[:-1]):
            raise ValueError(f"times must increase, got {times}")
        y.clamp_(-0.9, 0.9)
        trajectory = [y]
        with self.tracker as tracker:
            for start, end in zip(times[:-1], times[1:]):
                state = trajectory[-1] + 0.1 * self.force(trajectory[-1])
                trajectory.append(self.solver(state, start, end, context, tracker))
        return torch.stack(trajectory, 1), str(self.tracker)


model = PhysicsODE().eval()

if __name__ == "__main__":
    torch.export.export(
        model,
        (
            torch.linspace(0, 6, 8).sin().reshape(2, 4),
            torch.linspace(0, 3, 6).cos().reshape(2, 3),
            torch.tensor([0.0, 0.5, 1.0]),
        ),
    )
    torch.compile(model, fullgraph=True)(
        torch.linspace(0, 6, 8).sin().reshape(2, 4),
        torch.linspace(0, 3, 6).cos().reshape(2, 3),
        torch.tensor([0.0, 0.5, 1.0]),
    )
