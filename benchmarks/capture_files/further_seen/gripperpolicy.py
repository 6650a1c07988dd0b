"""An actor-critic for a gripper with a Dict observation, action sampling and epsilon exploration."""

import random
import time
from collections import OrderedDict

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical, Normal


def orthogonal(layer, gain=np.sqrt(2)):
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


class RunningNorm(nn.Module):
    def __init__(self, size, clip=5.0):
        super().__init__()
        self.clip = clip
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("var", torch.ones(size))
        self.register_buffer("count", torch.tensor(1e-4))

    def update(self, x):
        batch_mean, batch_var, n = x.mean(0), x.var(0, unbiased=False), x.shape[0]
        delta, total = batch_mean - self.mean, self.count + n
        self.mean = self.mean + delta * n / total
        self.var = (self.var * self.count + batch_var * n + delta**2 * self.count * n / total) / total
        self.count.fill_(float(total))

    def forward(self, x):
        if self.training:
            self.update(x)
        return ((x - self.mean) / (self.var + 1e-8).sqrt()).clamp(-self.clip, self.clip)


class Extractor(nn.Module):
    def __init__(self, spaces, width):
        super().__init__()
        self.norms = nn.ModuleDict({key: RunningNorm(size) for key, size in spaces.items()})
        self.layers = nn.ModuleDict({key: orthogonal(nn.Linear(size, width)) for key, size in spaces.items()})

    def forward(self, observation):
        missing = set(self.layers) - set(observation)
        if missing:
            raise KeyError(f"observation lacks {sorted(missing)}")
        parts = [torch.tanh(layer(self.norms[key](observation[key]))) for key, layer in self.layers.items()]
        return torch.cat(parts, dim=-1)


class GripperPolicy(nn.Module):
    def __init__(self, spaces, actions=4, width=8, epsilon=0.1):
        super().__init__()
        self.extract = Extractor(spaces, width)
        self.arm = orthogonal(nn.Linear(width * len(spaces), actions), 0.01)
        self.force = orthogonal(nn.Linear(width * len(spaces), 1), 0.01)
        self.value = orthogonal(nn.Linear(width * len(spaces), 1), 1.0)
        self.log_std = nn.Parameter(torch.zeros(1))
        self.epsilon = epsilon
        self.history = []

    def distributions(self, hidden):
        return Categorical(logits=self.arm(hidden)), Normal(self.force(hidden), self.log_std.exp())

    def explore(self, action):
        if random.random() < self.epsilon:
            index = np.random.randint(action.shape[0])
            action = action.clone()
            action[index] = 0
        return action

    def forward(self, observation, deterministic=False):
        started = time.perf_counter()
        hidden = self.extract(observation)
        arm, force = self.distributions(hidden)
        if deterministic:
            action, strength = arm.probs.argmax(-1), force.mean
        else:
            action, strength = self.explore(arm.sample()), force.rsample()
        log_prob = arm.log_prob(action) + force.log_prob(strength).sum(-1)
        value = self.value(hidden).squeeze(-1)
        if torch.isnan(value).any():
            raise FloatingPointError("the critic diverged")
        self.history.append(value.mean().item())
        info = OrderedDict(entropy=arm.entropy().mean(), seconds=time.perf_counter() - started)
        return action, strength.clamp(-1, 1), log_prob, value, info


model = GripperPolicy({"joints": 5, "tip": 3})

if __name__ == "__main__":
    torch.export.export(
        model,
        ({"joints": torch.linspace(0, 9, 20).sin().reshape(4, 5), "tip": torch.linspace(0, 7, 12).cos().reshape(4, 3)},),
    )
    torch.compile(model, fullgraph=True)(
        {"joints": torch.linspace(0, 9, 20).sin().reshape(4, 5), "tip": torch.linspace(0, 7, 12).cos().reshape(4, 3)}
    )
