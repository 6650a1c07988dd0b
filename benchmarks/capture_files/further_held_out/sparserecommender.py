"""Collaborative filtering on a sparse user-item matrix with light graph convolutions and seen-item masking."""

import logging

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import nn

log = logging.getLogger("recommender")


def normalised_adjacency(users, items, pairs):
    rows, columns = pairs
    matrix = sp.coo_matrix((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=(users, items))
    top = sp.hstack([sp.csr_matrix((users, users)), matrix])
    bottom = sp.hstack([matrix.T, sp.csr_matrix((items, items))])
    full = sp.vstack([top, bottom]).tocsr()
    degree = np.asarray(full.sum(1)).ravel()
    inverse = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    full = (sp.diags(inverse) @ full @ sp.diags(inverse)).tocoo()
    index = torch.from_numpy(np.vstack([full.row, full.col])).long()
    return torch.sparse_coo_tensor(index, torch.from_numpy(full.data).float(), full.shape).coalesce()


class Propagation(nn.Module):
    def __init__(self, layers, dropout):
        super().__init__()
        self.layers, self.dropout = layers, dropout

    def drop_edges(self, graph):
        if not self.training or self.dropout == 0:
            return graph
        graph = graph.coalesce()
        keep = torch.rand(graph.values().shape[0]) >= self.dropout
        return torch.sparse_coo_tensor(
            graph.indices()[:, keep], graph.values()[keep] / (1 - self.dropout), graph.shape
        )

    def forward(self, graph, x):
        graph = self.drop_edges(graph)
        layers = [x]
        for _ in range(self.layers):
            layers.append(torch.sparse.mm(graph, layers[-1]))
        return torch.stack(layers).mean(0)


class Recommender(nn.Module):
    def __init__(self, users=5, items=7, width=4, layers=2, top=3):
        super().__init__()
        self.users, self.items, self.top = users, items, top
        self.user = nn.Embedding(users, width)
        self.item = nn.Embedding(items, width)
        self.propagate = Propagation(layers, 0.1)
        self._cached = None

    def embeddings(self, pairs):
        if self._cached is None or self.training:
            graph = normalised_adjacency(self.users, self.items, pairs.numpy())
            self._cached = self.propagate(graph, torch.cat((self.user.weight, self.item.weight)))
        return self._cached.split([self.users, self.items])

    def bpr(self, users, items, user, positive):
        negative = (positive + 1 + user) % self.items
        gap = (users[user] * (items[positive] - items[negative])).sum(-1)
        return F.softplus(-gap).mean()

    def hit_rate(self, ranked, wanted):
        hits = 0
        for row, want in zip(ranked, wanted):
            if want in row:
                hits += 1
        return hits / max(len(wanted), 1)

    def forward(self, pairs, user, wanted):
        if pairs.shape[0] != 2:
            pairs = pairs.t()
        users, items = self.embeddings(pairs)
        scores = users[user] @ items.t()
        for row, u in enumerate(user):
            seen = pairs[1][pairs[0] == u]
            scores[row, seen] = float("-inf")
        ranked = scores.topk(self.top, dim=1).indices
        loss = self.bpr(users, items, user, wanted)
        rate = self.hit_rate(ranked, wanted)
        log.info("hit rate %.3f loss %.4f", rate, loss.item())
        return ranked, loss, torch.tensor(rate)


model = Recommender().eval()

if __name__ == "__main__":
    torch.export.export(
        model,
        (torch.tensor([[0, 0, 1, 2, 3, 4], [1, 2, 0, 3, 5, 6]]), torch.tensor([0, 2, 4]), torch.tensor([3, 1, 0])),
    )
    torch.compile(model, fullgraph=True)(
        torch.tensor([[0, 0, 1, 2, 3, 4], [1, 2, 0, 3, 5, 6]]), torch.tensor([0, 2, 4]), torch.tensor([3, 1, 0])
    )
