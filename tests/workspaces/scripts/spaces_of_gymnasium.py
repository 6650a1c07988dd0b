"""Policies whose sizes come from spaces of gymnasium, which is missing."""
# Actor: traced
# Greedy: failed control-flow
# Critic: traced
# import: missing-package

import gymnasium as gym
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary
from torch import nn


def size_of(space):
    if isinstance(space, Discrete | MultiBinary):
        return int(space.n)
    if isinstance(space, Box):
        return space.shape[0]
    raise NotImplementedError


class Actor(nn.Module):
    def __init__(self, observation_space: gym.Space, action_space: gym.spaces.Box):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(size_of(observation_space), 8), nn.Linear(8, size_of(action_space)))
        self.register_buffer("high", torch.as_tensor(action_space.high))

    def forward(self, observations):
        return self.layers(observations).tanh() * self.high


class Greedy(nn.Module):
    def __init__(self, observation_space, action_space):
        super().__init__()
        self.layer = nn.Linear(size_of(observation_space), size_of(action_space))

    def forward(self, observations):
        scores = self.layer(observations)
        return scores if scores.max() > 0 else -scores


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(Discrete(4).n, 8)

    def forward(self, actions):
        return self.embed(actions).sum(-1)
