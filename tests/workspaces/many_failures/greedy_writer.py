"""Greedy generation in forward, with a stop token."""

import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.gru = nn.GRUCell(dim, dim)
        self.out = nn.Linear(dim, vocab)

    def forward(self, token, h):
        h = self.gru(self.embed(token), h)
        return self.out(h), h


class GreedyWriter(nn.Module):
    def __init__(self, vocab=11, dim=8, eos=1, max_len=5):
        super().__init__()
        self.cell = Cell(vocab, dim)
        self.eos = eos
        self.max_len = max_len
        self.verbose = True

    def forward(self, start, h):
        tokens = [start]
        finished = torch.zeros_like(start, dtype=torch.bool)
        while len(tokens) < self.max_len:
            logits, h = self.cell(tokens[-1], h)
            nxt = logits.argmax(-1)
            finished = finished | (nxt == self.eos)
            tokens.append(nxt)
            if finished.all():
                break
        if self.verbose:
            print("wrote", len(tokens), "tokens")
        seq = torch.stack(tokens, 1)
        words = seq[0].tolist()
        if words[0] == self.eos:
            return seq[:, :1]
        return seq


if __name__ == "__main__":
    model = GreedyWriter()
    model(torch.tensor([3, 4]), torch.zeros(2, 8))
