"""The policy and the value function of an agent that plays a game with forbidden moves, with the loss of PPO."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical, Normal


class RunningNorm(nn.Module):
    def __init__(self, width, clip=5.0):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("var", torch.ones(width))
        self.register_buffer("count", torch.tensor(1e-4))
        self.clip = clip

    @torch.no_grad()
    def update(self, x):
        number = x.shape[0]
        total = self.count + number
        shift = x.mean(0) - self.mean
        self.mean += shift * number / total
        self.var.copy_((self.var * self.count + x.var(0, correction=0) * number) / total)
        self.count.fill_(total.item())

    def forward(self, x):
        if self.training:
            self.update(x)
        return ((x - self.mean) / (self.var + 1e-8).sqrt()).clamp(-self.clip, self.clip)


class PolicyHeads(nn.Module):
    def __init__(self, width, moves):
        super().__init__()
        self.move = nn.Linear(width, moves)
        self.force = nn.Linear(width, 1)
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, hidden, allowed):
        stuck = ~allowed.any(dim=1)
        if stuck.any():
            allowed = allowed | stuck.unsqueeze(1)
        logits = self.move(hidden).masked_fill(~allowed, -1e9)
        force = self.force(hidden).squeeze(-1)
        return Categorical(logits=logits), Normal(force, self.log_std.exp().expand_as(force))


def advantages(rewards, values, done, discount=0.99, trace=0.95):
    """Generalized advantage estimation over one episode or several that follow each other."""
    result = []
    following, carried = 0.0, 0.0
    for reward, value, last in reversed(list(zip(rewards.tolist(), values.tolist(), done))):
        if last:
            following, carried = 0.0, 0.0
        carried = reward + discount * following - value + discount * trace * carried
        following = value
        result.insert(0, carried)
    return torch.tensor(result)


class MaskedPolicy(nn.Module):
    def __init__(self, observed=5, width=8, moves=4, clip=0.2):
        super().__init__()
        self.norm = RunningNorm(observed)
        self.body = nn.Sequential(nn.Linear(observed, width), nn.Tanh())
        self.heads = PolicyHeads(width, moves)
        self.value = nn.Linear(width, 1)
        self.clip = clip

    def forward(self, observations, allowed, moves, rewards, done, old_log_probs):
        hidden = self.body(self.norm(observations))
        move, force = self.heads(hidden, allowed)
        values = self.value(hidden).squeeze(-1)
        advantage = advantages(rewards, values.detach(), done)
        returns = advantage + values.detach()
        if len(advantage) > 1 and advantage.std() > 0:
            advantage = (advantage - advantage.mean()) / advantage.std()
        pushed = force.sample().tanh()
        ratio = (move.log_prob(moves) - old_log_probs).exp()
        clipped = ratio.clamp(1 - self.clip, 1 + self.clip)
        loss = -torch.min(ratio * advantage, clipped * advantage).mean()
        loss = loss + 0.5 * F.mse_loss(values, returns) - 0.01 * move.entropy().mean()
        stats = {
            "kl": (old_log_probs - move.log_prob(moves)).mean().item(),
            "clipped": ((ratio - 1).abs() > self.clip).float().mean().item(),
        }
        return loss, pushed, stats


model = MaskedPolicy().train()

if __name__ == "__main__":
    torch.export.export(
        model,
        (
            torch.linspace(-2, 2, 20).reshape(4, 5),
            torch.tensor([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 0, 0], [1, 1, 1, 1]]).bool(),
            torch.tensor([0, 2, 0, 3]),
            torch.tensor([0.0, 1.0, -1.0, 0.5]),
            torch.tensor([False, True, False, True]),
            torch.tensor([-1.2, -1.1, -0.1, -1.4]),
        ),
    )
    torch.compile(model, fullgraph=True)(
        torch.linspace(-2, 2, 20).reshape(4, 5),
        torch.tensor([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 0, 0], [1, 1, 1, 1]]).bool(),
        torch.tensor([0, 2, 0, 3]),
        torch.tensor([0.0, 1.0, -1.0, 0.5]),
        torch.tensor([False, True, False, True]),
        torch.tensor([-1.2, -1.1, -0.1, -1.4]),
    )
