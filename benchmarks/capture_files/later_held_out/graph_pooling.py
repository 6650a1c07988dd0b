"""Classifies molecules with graph convolutions between which only the best nodes of each graph are kept."""

import math

import torch
from torch import nn


class Convolution(nn.Module):
    def __init__(self, channels, width):
        super().__init__()
        self.own = nn.Linear(channels, width)
        self.neighbours = nn.Linear(channels, width, bias=False)

    def forward(self, x, edges):
        source, target = edges
        summed = torch.zeros_like(x).index_add(0, target, x[source])
        degree = torch.bincount(target, minlength=x.shape[0]).clamp(min=1)
        return torch.relu(self.own(x) + self.neighbours(summed / degree.unsqueeze(1)))


class TopKPooling(nn.Module):
    def __init__(self, width, ratio):
        super().__init__()
        self.direction = nn.Parameter(torch.linspace(-1, 1, width))
        self.ratio = ratio

    def select(self, scores, batch):
        for graph in batch.unique():
            nodes = (batch == graph).nonzero().flatten()
            number = math.ceil(self.ratio * len(nodes))
            yield nodes[scores[nodes].topk(number).indices]

    def forward(self, x, edges, batch):
        scores = torch.tanh(x @ self.direction / self.direction.norm())
        kept = torch.cat(list(self.select(scores, batch))).sort().values
        renamed = torch.full((x.shape[0],), -1)
        renamed[kept] = torch.arange(len(kept))
        edges = renamed[edges]
        edges = edges[:, (edges >= 0).all(dim=0)]
        return x[kept] * scores[kept].unsqueeze(1), edges, batch[kept]


def components(edges, nodes):
    """The number of parts of a graph that aren't connected with each other."""
    parents = list(range(nodes))

    def root(node):
        while parents[node] != node:
            node = parents[node]
        return node

    for source, target in edges.t().tolist():
        parents[root(source)] = root(target)
    return len({root(node) for node in range(nodes)})


class MoleculeClassifier(nn.Module):
    def __init__(self, atoms=5, width=8, classes=2, depth=2, ratio=0.6):
        super().__init__()
        self.embed = nn.Embedding(atoms, width)
        self.convolutions = nn.ModuleList(Convolution(width, width) for _ in range(depth))
        self.pools = nn.ModuleList(TopKPooling(width, ratio) for _ in range(depth))
        self.output = nn.Linear(2 * width + 1, classes)

    def readout(self, x, batch, graphs):
        means = x.new_zeros(graphs, x.shape[1]).index_reduce(0, batch, x, "mean", include_self=False)
        largest = x.new_zeros(graphs, x.shape[1]).index_reduce(0, batch, x, "amax", include_self=False)
        return torch.cat([means, largest], dim=1)

    def forward(self, atoms, edges, batch):
        if edges.numel() and int(edges.max()) >= atoms.shape[0]:
            raise IndexError("an edge leads to an atom that doesn't exist")
        graphs = int(batch[-1]) + 1
        x = self.embed(atoms)
        total = x.new_zeros(graphs, 2 * x.shape[1])
        for convolution, pool in zip(self.convolutions, self.pools):
            x = convolution(x, edges)
            x, edges, batch = pool(x, edges, batch)
            total = total + self.readout(x, batch, graphs)
        parts = components(edges, len(x)) / graphs
        total = torch.cat([total, total.new_full((graphs, 1), parts)], dim=1)
        return self.output(total)


model = MoleculeClassifier().eval()

if __name__ == "__main__":
    torch.export.export(
        model,
        (
            torch.tensor([0, 1, 2, 1, 4, 3, 0, 2]),
            torch.tensor([[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6]]),
            torch.tensor([0, 0, 0, 0, 1, 1, 1, 1]),
        ),
    )
    torch.compile(model, fullgraph=True)(
        torch.tensor([0, 1, 2, 1, 4, 3, 0, 2]),
        torch.tensor([[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6]]),
        torch.tensor([0, 0, 0, 0, 1, 1, 1, 1]),
    )
