"""Message passing with an edge list that is filtered."""

import torch
from torch import nn


class Conv(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lin = nn.Linear(dim, dim)

    def forward(self, x, edges):
        n = int(edges.max()) + 1
        assert n <= x.size(0), "edge to a node that does not exist"
        out = torch.zeros_like(x)
        out = out.index_add(0, edges[1], self.lin(x)[edges[0]])
        return out.relu()


class GraphPool(nn.Module):
    def __init__(self, dim=5):
        super().__init__()
        self.conv1 = Conv(dim)
        self.conv2 = Conv(dim)
        self.score = nn.Linear(dim, 1)

    def forward(self, x, edges, batch):
        x = self.conv1(x, edges)
        x = self.conv2(x, edges)
        s = self.score(x).squeeze(-1)
        graphs = batch.max().item() + 1
        pooled = []
        for g in range(graphs):
            member = batch == g
            top = s[member].topk(1).indices
            pooled.append(x[member][top].mean(0))
        if torch.stack(pooled).sum() > 1e9:
            return x
        return torch.stack(pooled)


if __name__ == "__main__":
    model = GraphPool()
    model(torch.ones(4, 5), torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]]), torch.tensor([0, 0, 1, 1]))
