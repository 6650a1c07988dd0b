"""Greedy CTC decoding inside of forward."""

import torch
from torch import nn


class CTCDecoder(nn.Module):
    def __init__(self, feats=6, vocab=5, blank=0):
        super().__init__()
        self.rnn = nn.GRU(feats, 8, batch_first=True)
        self.head = nn.Linear(8, vocab)
        self.blank = blank

    def collapse(self, path):
        out, last = [], None
        for t in path:
            token = int(t)
            if token != last and token != self.blank:
                out.append(token)
            last = token
        return out

    def forward(self, x, lengths):
        h, _ = self.rnn(x)
        logits = self.head(h)
        best = logits.argmax(-1)
        texts = []
        for b in range(x.shape[0]):
            n = lengths[b].item()
            texts.append(self.collapse(best[b, :n]))
        longest = max(len(t) for t in texts)
        if lengths.max() > x.shape[1]:
            raise ValueError("length is out of range")
        return logits, longest


if __name__ == "__main__":
    model = CTCDecoder()
    model(torch.ones(2, 4, 6), torch.tensor([4, 3]))
