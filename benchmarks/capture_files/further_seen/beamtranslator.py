"""A small translation model whose forward runs beam search with hypotheses kept as Python objects."""

import heapq
import math
from dataclasses import dataclass, field
from typing import List

import torch
from torch import nn

BOS, EOS = 1, 2


@dataclass(order=True)
class Hypothesis:
    score: float
    tokens: List[int] = field(compare=False)

    def normalised(self, alpha):
        return self.score / ((5 + len(self.tokens)) / 6) ** alpha


class Finished:
    def __init__(self, size, alpha):
        self.size, self.alpha, self.heap = size, alpha, []

    def add(self, hypothesis):
        entry = (hypothesis.normalised(self.alpha), hypothesis.tokens)
        if len(self.heap) < self.size:
            heapq.heappush(self.heap, entry)
        else:
            heapq.heappushpop(self.heap, entry)

    def is_done(self, best):
        return len(self.heap) >= self.size and self.heap[0][0] >= best


class PositionalEncoding(nn.Module):
    def __init__(self, width, longest=32):
        super().__init__()
        position = torch.arange(longest).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(longest, width)
        table[:, 0::2] = torch.sin(position * rate)
        table[:, 1::2] = torch.cos(position * rate)
        self.register_buffer("table", table, persistent=False)

    def forward(self, x):
        return x + self.table[: x.size(1)]


class Translator(nn.Module):
    def __init__(self, vocabulary=11, width=8, beams=2, longest=5, alpha=0.6):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width, padding_idx=0)
        self.position = PositionalEncoding(width)
        self.encoder = nn.TransformerEncoderLayer(width, 2, 16, dropout=0.0, batch_first=True)
        self.attend = nn.MultiheadAttention(width, 2, batch_first=True)
        self.cell = nn.Linear(2 * width, width)
        self.out = nn.Linear(width, vocabulary)
        self.beams, self.longest, self.alpha = beams, longest, alpha

    def encode(self, source):
        padding = source.eq(0)
        memory = self.encoder(self.position(self.embed(source)), src_key_padding_mask=padding)
        return memory, padding

    def step(self, prefix, memory, padding):
        x = self.position(self.embed(prefix))
        n = prefix.size(0)
        context, _ = self.attend(x[:, -1:], memory.expand(n, -1, -1), memory.expand(n, -1, -1),
                                 key_padding_mask=padding.expand(n, -1))
        hidden = torch.tanh(self.cell(torch.cat((x.mean(1), context[:, 0]), -1)))
        return self.out(hidden).log_softmax(-1)

    def search(self, memory, padding):
        alive = [Hypothesis(0.0, [BOS])]
        done = Finished(self.beams, self.alpha)
        for _ in range(self.longest):
            prefix = torch.tensor([h.tokens for h in alive], device=memory.device)
            log_probs = self.step(prefix, memory, padding)
            scores = log_probs + log_probs.new_tensor([h.score for h in alive]).unsqueeze(1)
            values, flat = scores.flatten().topk(2 * self.beams)
            rows, tokens = flat // scores.size(1), flat % scores.size(1)
            following = []
            for value, row, token in zip(values.tolist(), rows.tolist(), tokens.tolist()):
                extended = Hypothesis(value, alive[row].tokens + [token])
                if token == EOS:
                    done.add(extended)
                else:
                    following.append(extended)
            alive = following[: self.beams]
            if done.is_done(values.max().item()):
                break
        for hypothesis in alive:
            done.add(hypothesis)
        return max(done.heap)[1]

    @torch.no_grad()
    def forward(self, source):
        memory, padding = self.encode(source)
        assert not padding.all(dim=1).any(), "an empty source sentence"
        return [self.search(memory[i : i + 1], padding[i : i + 1]) for i in range(source.size(0))]


model = Translator().eval()

if __name__ == "__main__":
    torch.export.export(model, (torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0]]),))
    torch.compile(model, fullgraph=True)(torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0]]))
