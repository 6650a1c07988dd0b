"""Looks up neighbours with a custom operator and returns an object."""

import torch
from torch import nn


@torch.library.custom_op("many_failures::neighbours", mutates_args=())
def neighbours(query: torch.Tensor, bank: torch.Tensor, k: int) -> torch.Tensor:
    return torch.cdist(query, bank).topk(k, largest=False).indices


class Result:
    def __init__(self, scores, ids):
        self.scores = scores
        self.ids = ids


class Retrieval(nn.Module):
    def __init__(self, dim=4, size=9):
        super().__init__()
        self.register_buffer("bank", torch.arange(size * dim).float().view(size, dim))
        self.enc = nn.Linear(dim, dim)

    def rerank(self, ids, q):
        cands = self.bank[ids]
        scores = torch.einsum("bkd,bd->bk", cands, q)
        if (scores < -1e9).any():
            raise ValueError("bad score")
        return scores

    def forward(self, x):
        q = self.enc(x)
        ids = neighbours(q, self.bank, 3)
        scores = self.rerank(ids, q)
        top = scores.max()
        if top > 1e9:
            print("suspicious:", top.item())
        print("ids", ids[0].tolist())
        return Result(scores, ids)


if __name__ == "__main__":
    model = Retrieval()
    model(torch.ones(2, 4))
