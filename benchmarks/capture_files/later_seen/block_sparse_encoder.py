"""Encodes long documents with attention between those blocks of tokens only that are relevant to each other."""

import contextlib
import math

import torch
import torch.nn.functional as F
from torch import nn


class BlockMask:
    """Which blocks each block attends to: those around it, the first one, and those with similar content."""

    def __init__(self, similar, around):
        self.similar = similar
        self.around = around
        self.cache = {}

    def local(self, blocks):
        if blocks not in self.cache:
            index = torch.arange(blocks)
            mask = (index[:, None] - index).abs() <= self.around
            mask[:, 0] = True
            self.cache[blocks] = mask
        return self.cache[blocks]

    def __call__(self, scores):
        mask = self.local(scores.shape[0]).clone()
        limit = torch.quantile(scores.flatten(), 1 - self.similar).item()
        mask |= scores >= limit
        return mask


class SparseAttention(nn.Module):
    def __init__(self, width, block, similar=0.2, around=1):
        super().__init__()
        self.block = block
        self.qkv = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.mask = BlockMask(similar, around)

    def forward(self, x, real):
        blocks = x.shape[0] // self.block
        q, k, v = (part.reshape(blocks, self.block, -1) for part in self.qkv(x).chunk(3, dim=-1))
        real = real.reshape(blocks, self.block)
        mask = self.mask(q.mean(1) @ k.mean(1).t())
        outputs = []
        for number, row in enumerate(mask):
            if not real[number].any():
                outputs.append(torch.zeros_like(q[number]))
                continue
            chosen = row.nonzero().flatten()
            keys, values = k[chosen].flatten(0, 1), v[chosen].flatten(0, 1)
            hidden = ~real[chosen].flatten()
            scores = q[number] @ keys.t() / math.sqrt(keys.shape[-1])
            outputs.append(scores.masked_fill(hidden, -1e4).softmax(-1) @ values)
        return self.output(torch.cat(outputs)), mask.float().mean()


class DocumentEncoder(nn.Module):
    def __init__(self, words=20, width=8, block=4, depth=2):
        super().__init__()
        self.embed = nn.Embedding(words, width, padding_idx=0)
        self.layers = nn.ModuleList(SparseAttention(width, block) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.block = block
        self.density = {}

    @contextlib.contextmanager
    def measured(self, name):
        found = []
        try:
            yield found
        finally:
            self.density[name] = sum(value.item() for value in found) / max(len(found), 1)

    def split(self, tokens):
        """The sentences of a document: each ends with the token 1."""
        ends = (tokens == 1).nonzero().flatten().tolist()
        start = 0
        for end in ends:
            if end > start:
                yield slice(start, end)
            start = end + 1
        if start < len(tokens):
            yield slice(start, len(tokens))

    def forward(self, tokens):
        length = tokens.shape[0]
        tokens = F.pad(tokens, (0, -length % self.block))
        real = tokens != 0
        x = self.embed(tokens)
        for number, (layer, norm) in enumerate(zip(self.layers, self.norms)):
            with self.measured(f"layer {number}") as found:
                update, density = layer(norm(x), real)
                found.append(density)
                x = x + update
        sentences = [x[part].mean(dim=0) for part in self.split(tokens[:length])]
        if not sentences:
            return x[:length], x.mean(dim=0, keepdim=True)
        return x[:length], torch.stack(sentences)


model = DocumentEncoder().eval()

if __name__ == "__main__":
    torch.export.export(model, (torch.tensor([4, 9, 2, 1, 15, 7, 7, 3, 1, 11, 8, 19, 6, 1, 5, 0, 0, 0, 0, 0, 0]),))
    torch.compile(model, fullgraph=True)(
        torch.tensor([4, 9, 2, 1, 15, 7, 7, 3, 1, 11, 8, 19, 6, 1, 5, 0, 0, 0, 0, 0, 0])
    )
