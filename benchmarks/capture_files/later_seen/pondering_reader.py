"""Answers questions with a recurrent cell that ponders on each word until it is sure."""

import logging

import torch
from torch import nn

log = logging.getLogger("ponder")


class Halting(nn.Module):
    def __init__(self, width, bias=1.0):
        super().__init__()
        self.linear = nn.Linear(width, 1)
        nn.init.constant_(self.linear.bias, bias)

    def forward(self, state, temperature):
        return torch.sigmoid(self.linear(state).squeeze(-1) / temperature)


class PonderCell(nn.Module):
    def __init__(self, width, most):
        super().__init__()
        self.cell = nn.GRUCell(width + 1, width)
        self.halting = Halting(width)
        self.most = most

    def forward(self, x, state, temperature, epsilon=0.05):
        total = x.new_zeros(x.shape[0])
        updates = x.new_zeros(x.shape[0])
        mixed = torch.zeros_like(state)
        step = 0
        while (total < 1 - epsilon).any():
            running = total < 1 - epsilon
            first = x.new_full((x.shape[0], 1), float(step == 0))
            state = self.cell(torch.cat([x, first], dim=1), state)
            halt = self.halting(state, temperature) * running
            last = running & (total + halt >= 1 - epsilon)
            halt = torch.where(last, 1 - total, halt)
            total = total + halt
            updates = updates + running
            mixed = mixed + halt.unsqueeze(1) * state
            step += 1
            if step == self.most:
                break
        return mixed, updates + (1 - total)


class PonderingReader(nn.Module):
    def __init__(self, words=12, width=8, answers=4, most=6, warm_up=3, every=2):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.cell = PonderCell(width, most)
        self.answer = nn.Linear(width, answers)
        self.register_buffer("seen", torch.zeros((), dtype=torch.long))
        self.warm_up = warm_up
        self.every = every

    @property
    def temperature(self):
        progress = min(self.seen.item() / self.warm_up, 1.0)
        return 2.0 - progress

    def report(self, cost, state):
        if self.seen % self.every == 0:
            log.info("step %d: cost %.3f, norm %.3f", self.seen, cost.mean(), state.norm())

    def forward(self, tokens, labels=None):
        temperature = self.temperature
        self.seen += 1
        state = torch.zeros(tokens.shape[0], self.cell.cell.hidden_size)
        costs = []
        for word in self.embed(tokens).unbind(1):
            state, cost = self.cell(word, state, temperature)
            costs.append(cost)
        cost = torch.stack(costs, dim=1)
        self.report(cost, state)
        logits = self.answer(state)
        if labels is None:
            return logits, cost
        known = labels >= 0
        if not known.any():
            return logits, cost.mean()
        loss = nn.functional.cross_entropy(logits[known], labels[known])
        return logits, loss + 0.01 * cost.mean()


model = PonderingReader()

if __name__ == "__main__":
    torch.export.export(model, (torch.tensor([[1, 5, 7], [3, 2, 11]]), torch.tensor([2, -1])))
    torch.compile(model, fullgraph=True)(torch.tensor([[1, 5, 7], [3, 2, 11]]), torch.tensor([2, -1]))
