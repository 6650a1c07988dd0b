"""Reads a long text in segments and remembers what it has read, as recurrent transformers do."""

import torch
import torch.nn.functional as F
from torch import nn


class SegmentReader(nn.Module):
    def __init__(self, words=16, width=8, length=3, kept=4):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.read = nn.MultiheadAttention(width, 2, batch_first=True)
        self.length = length
        self.kept = kept
        self.pad = 0

    def forward(self, tokens, boundaries):
        real = int((tokens != self.pad).sum())
        if real < tokens.shape[0]:
            tokens = tokens[:real]
        if tokens.max() >= self.embed.num_embeddings:
            raise IndexError("a token is not in the vocabulary")
        memory = torch.zeros(1, 1, self.embed.embedding_dim)
        start = 0
        outputs = []
        for end in boundaries:
            end = end.item()
            if end <= start:
                continue
            piece = self.embed(tokens[start:end])[None]
            context = torch.cat([memory, piece], dim=1)
            out, weights = self.read(piece, context, context)
            if weights.max() > 0.99:
                out = out + piece
            memory = context[:, -self.kept :]
            outputs.append(out[0])
            start = end
        if start < len(tokens):
            outputs.append(self.embed(tokens[start:]))
        joined = torch.cat(outputs)
        norm = joined.norm().item()
        joined = joined / max(norm, 1.0)
        gaps = [b - a for a, b in zip(boundaries.tolist()[:-1], boundaries.tolist()[1:])]
        return joined, max(gaps)


model = SegmentReader().eval()

if __name__ == "__main__":
    torch.export.export(model, (torch.tensor([4, 7, 2, 9, 12, 3, 0, 0]), torch.tensor([2, 4, 6])))
    torch.compile(model, fullgraph=True)(torch.tensor([4, 7, 2, 9, 12, 3, 0, 0]), torch.tensor([2, 4, 6]))
