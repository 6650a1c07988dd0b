"""An actor that samples, masks and logs."""

import torch
from torch import nn
from torch.distributions import Categorical


class PolicyNet(nn.Module):
    def __init__(self, obs=4, actions=3):
        super().__init__()
        self.body = nn.Linear(obs, 16)
        self.pi = nn.Linear(16, actions)
        self.steps = 0

    def mask(self, logits, allowed):
        if allowed.all():
            return logits
        if not allowed.any(dim=-1).all():
            raise ValueError("a state without actions")
        return logits.masked_fill(~allowed, -1e9)

    def forward(self, obs, allowed):
        self.steps += 1
        h = torch.tanh(self.body(obs))
        logits = self.mask(self.pi(h), allowed)
        dist = Categorical(logits=logits)
        action = dist.probs.argmax(-1)
        if self.steps % 1 == 0:
            print("entropy", dist.entropy().mean().item())
        chosen = [int(a) for a in action]
        if chosen[0] > 5:
            action = action - 1
        return action, dist.log_prob(action)


if __name__ == "__main__":
    model = PolicyNet()
    model(torch.ones(2, 4), torch.tensor([[True, False, True], [True, True, True]]))
