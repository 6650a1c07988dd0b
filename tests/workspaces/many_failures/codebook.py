"""Vector quantization with usage statistics."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Quantized:
    values: torch.Tensor
    codes: torch.Tensor
    perplexity: torch.Tensor


class Codebook(nn.Module):
    def __init__(self, entries=12, dim=4):
        super().__init__()
        self.embed = nn.Embedding(entries, dim)
        self.register_buffer("initialized", torch.zeros(1))
        self.register_buffer("usage", torch.zeros(entries))

    def maybe_init(self, flat):
        if self.initialized.item() == 1:
            return
        print("initializing the codebook from", flat.shape[0], "vectors")

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        self.maybe_init(flat)
        codes = torch.cdist(flat, self.embed.weight).argmin(dim=1)
        used = torch.unique(codes)
        if len(used) < 2:
            print("collapse!")
        onehot = nn.functional.one_hot(codes, self.embed.num_embeddings).float()
        avg = onehot.mean(0)
        perplexity = torch.exp(-(avg * (avg + 1e-10).log()).sum())
        if perplexity > 1e6:
            perplexity = perplexity.detach()
        return Quantized(self.embed(codes).view_as(x), codes, perplexity)


if __name__ == "__main__":
    model = Codebook()
    q = model(torch.ones(2, 3, 4))
