"""Writes text with a large language model that checks what a small one drafts, until a criterion is met."""

import torch
import torch.nn.functional as F
from torch import nn


class Draft(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.linear = nn.Linear(width, words)

    def forward(self, tokens):
        return self.linear(self.embed(tokens))


class Target(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.linear = nn.Linear(width, words)

    def forward(self, tokens):
        if tokens.min() < 0:
            raise ValueError("the prompt contains padding")
        hidden, _ = self.rnn(self.embed(tokens))
        return self.linear(hidden)


class StopAtLength:
    def __init__(self, most):
        self.most = most

    def __call__(self, tokens):
        return tokens.shape[1] >= self.most


class StopAtToken:
    def __init__(self, token):
        self.token = token

    def __call__(self, tokens):
        return (tokens[0, -1] == self.token).item()


class StopAtRepetition:
    def __init__(self, length=3):
        self.length = length

    def __call__(self, tokens):
        tail = tokens[0, -self.length :].tolist()
        return len(tail) == self.length and len(set(tail)) == 1


class SpeculativeWriter(nn.Module):
    def __init__(self, words=14, width=8, ahead=3, most=12, lenience=0.5):
        super().__init__()
        self.draft = Draft(words, width)
        self.target = Target(words, width)
        self.ahead = ahead
        self.lenience = lenience
        self.criteria = [StopAtLength(most), StopAtToken(0), StopAtRepetition()]

    def propose(self, tokens):
        probabilities = []
        for _ in range(self.ahead):
            last = F.softmax(self.draft(tokens)[:, -1], dim=-1)
            token = last.argmax(-1, keepdim=True)
            probabilities.append(last.gather(1, token).squeeze())
            tokens = torch.cat([tokens, token], dim=1)
        return tokens, probabilities

    @torch.no_grad()
    def forward(self, prompt):
        tokens = prompt
        accepted_of_round = []
        while True:
            start = tokens.shape[1]
            drafted, likely = self.propose(tokens)
            checked = F.softmax(self.target(drafted), dim=-1)[0]

            def accepts(offset):
                wanted = checked[start + offset - 1, drafted[0, start + offset]]
                return wanted / likely[offset] > self.lenience

            accepted = 0
            for offset in range(self.ahead):
                if not accepts(offset):
                    break
                accepted += 1
            accepted_of_round.append(accepted)
            corrected = checked[start + accepted - 1].argmax().reshape(1, 1)
            tokens = torch.cat([drafted[:, : start + accepted], corrected], dim=1)
            if any(criterion(tokens) for criterion in self.criteria):
                break
        written = tokens[:, prompt.shape[1] :]
        rate = sum(accepted_of_round) / (self.ahead * len(accepted_of_round))
        return written, rate


torch.manual_seed(3)
model = SpeculativeWriter().eval()

if __name__ == "__main__":
    torch.export.export(model, (torch.tensor([[5, 2, 9]]),))
    torch.compile(model, fullgraph=True)(torch.tensor([[5, 2, 9]]))
