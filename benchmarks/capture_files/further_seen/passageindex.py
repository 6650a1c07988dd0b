"""Dense retrieval: a bi-encoder, a memory of passages in numpy and a reranker over the hits."""

from functools import partial
from typing import Any, Dict, List

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class FlatIndex:
    """An exact inner-product index with the interface of the usual libraries."""

    def __init__(self, width: int):
        self.vectors = np.zeros((0, width), dtype=np.float32)

    @property
    def ntotal(self) -> int:
        return self.vectors.shape[0]

    def add(self, vectors: np.ndarray) -> None:
        self.vectors = np.concatenate([self.vectors, np.ascontiguousarray(vectors, dtype=np.float32)])

    def search(self, queries: np.ndarray, k: int):
        scores = queries @ self.vectors.T
        found = np.argpartition(-scores, k - 1, axis=1)[:, :k]
        found = np.take_along_axis(found, np.argsort(-np.take_along_axis(scores, found, 1), axis=1), 1)
        return np.take_along_axis(scores, found, 1), found


class Tower(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocabulary, width, mode="sum", padding_idx=0)
        self.dense = nn.Linear(width, width)

    def forward(self, tokens):
        return F.normalize(torch.tanh(self.dense(self.embed(tokens))), dim=-1)


class Reranker(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bilinear = nn.Bilinear(width, width, 1)
        self.activations = {"tanh": torch.tanh, "leaky": partial(F.leaky_relu, negative_slope=0.2)}

    def forward(self, query, passages, kind="leaky"):
        query = query.unsqueeze(1).expand_as(passages).contiguous()
        return self.activations[kind](self.bilinear(query, passages)).squeeze(-1)


class Retriever(nn.Module):
    def __init__(self, vocabulary=20, width=8, k=2, margin=-1.0):
        super().__init__()
        self.query = Tower(vocabulary, width)
        self.passage = Tower(vocabulary, width)
        self.rerank = Reranker(width)
        self.index = FlatIndex(width)
        self.k, self.margin = k, margin

    @torch.no_grad()
    def ingest(self, passages):
        self.index.add(self.passage(passages).cpu().numpy())

    def lookup(self, queries):
        k = min(self.k, self.index.ntotal)
        scores, found = self.index.search(queries.detach().numpy(), k)
        return torch.from_numpy(scores), torch.from_numpy(found)

    def describe(self, ids, scores) -> List[Dict[str, Any]]:
        return [{"id": i, "text": f"passage-{i:03d}", "score": round(s, 3)} for i, s in zip(ids.tolist(), scores.tolist())]

    def metrics(self, ids, gold):
        matches = ids.eq(gold.unsqueeze(1))
        position = matches.float().argmax(1) + 1
        reciprocal = torch.where(matches.any(1), 1.0 / position, torch.zeros(()))
        return reciprocal.mean()

    def forward(self, queries, passages, gold=None):
        if self.index.ntotal < passages.shape[0]:
            self.ingest(passages)
        q = self.query(queries)
        first, ids = self.lookup(q)
        vectors = self.passage(passages)[ids]
        scores = 0.5 * first + 0.5 * self.rerank(q, vectors)
        order = scores.argsort(dim=1, descending=True)
        scores, ids = scores.gather(1, order), ids.gather(1, order)
        results = []
        for row in range(ids.shape[0]):
            good = scores[row] > self.margin
            results.append(self.describe(ids[row][good], scores[row][good]))
        mrr = self.metrics(ids, gold) if gold is not None else None
        return scores, results, mrr


model = Retriever().eval()

if __name__ == "__main__":
    torch.export.export(
        model,
        (torch.arange(1, 7).reshape(2, 3), torch.arange(1, 17).reshape(4, 4), torch.tensor([0, 1])),
    )
    torch.compile(model, fullgraph=True)(
        torch.arange(1, 7).reshape(2, 3), torch.arange(1, 17).reshape(4, 4), torch.tensor([0, 1])
    )
