"""A causal language model with a sliding key/value cache object and greedy generation until a stop token."""

from typing import Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import nn


class SlidingCache:
    def __init__(self, window: int):
        self.window = window
        self.store: Dict[int, Tuple[torch.Tensor, torch.Tensor]] = {}
        self.seen = 0

    def __len__(self) -> int:
        return self.store[0][0].shape[2] if 0 in self.store else 0

    def append(self, layer: int, key: torch.Tensor, value: torch.Tensor):
        if layer in self.store:
            old_key, old_value = self.store[layer]
            key, value = torch.cat((old_key, key), 2), torch.cat((old_value, value), 2)
        self.store[layer] = key[:, :, -self.window :], value[:, :, -self.window :]
        if layer == 0:
            self.seen += 1
        return self.store[layer]

    def reorder(self, index: torch.Tensor) -> None:
        for layer, (key, value) in self.store.items():
            self.store[layer] = key.index_select(0, index), value.index_select(0, index)


def rotate(x, start):
    half = x.shape[-1] // 2
    angle = (torch.arange(x.shape[2]) + start)[:, None] / 100 ** (torch.arange(half) / half)
    a, b = x.split(half, -1)
    return torch.cat((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), -1)


class Layer(nn.Module):
    def __init__(self, index, width, heads):
        super().__init__()
        self.index, self.heads = index, heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.mlp = nn.Sequential(nn.RMSNorm(width), nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))
        self.norm = nn.RMSNorm(width)

    def forward(self, x, cache: Optional[SlidingCache], start):
        b, n, w = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = rotate(q, start), rotate(k, start)
        if cache is not None:
            k, v = cache.append(self.index, k, v)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=n > 1)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, w))
        return x + self.mlp(x)


class StreamingLM(nn.Module):
    def __init__(self, vocabulary=13, width=8, heads=2, depth=2, window=6, stop=2):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Layer(i, width, heads) for i in range(depth))
        self.norm = nn.RMSNorm(width)
        self.window, self.stop = window, stop
        self.last_cache = None

    def logits(self, tokens, cache, start):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, cache, start)
        return F.linear(self.norm(x[:, -1]), self.embed.weight)

    def penalise(self, logits, produced: List[List[int]], strength=1.2):
        for row, tokens in enumerate(produced):
            for token in set(tokens):
                value = logits[row, token]
                logits[row, token] = value / strength if value > 0 else value * strength
        return logits

    @torch.no_grad()
    def forward(self, prompt, lengths, longest: int = 4):
        if prompt.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"token ids expected, got {prompt.dtype}")
        shortest = lengths.min().item()
        prompt = prompt[:, :shortest]
        cache = SlidingCache(self.window)
        produced: List[List[int]] = [[] for _ in range(prompt.size(0))]
        finished = torch.zeros(prompt.size(0), dtype=torch.bool)
        tokens, start = prompt, 0
        for _ in range(longest):
            logits = self.penalise(self.logits(tokens, cache, start), produced)
            start += tokens.size(1)
            following = logits.argmax(-1).masked_fill(finished, self.stop)
            finished |= following == self.stop
            for row, token in enumerate(following.tolist()):
                produced[row].append(token)
            if finished.all():
                break
            tokens = following[:, None]
        self.last_cache = cache
        return torch.tensor(produced), len(cache)


model = StreamingLM().eval()

if __name__ == "__main__":
    torch.export.export(model, (torch.tensor([[3, 4, 5, 6], [7, 8, 9, 0]]), torch.tensor([4, 3])))
    torch.compile(model, fullgraph=True)(torch.tensor([[3, 4, 5, 6], [7, 8, 9, 0]]), torch.tensor([4, 3]))
