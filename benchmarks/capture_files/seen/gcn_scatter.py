import torch
from torch import nn


def degree(index, num_nodes=None, dtype=torch.float):
    num_nodes = int(index.max()) + 1 if num_nodes is None else num_nodes
    return torch.zeros(num_nodes, dtype=dtype).scatter_add_(0, index, torch.ones(index.numel(), dtype=dtype))


class GraphConv(nn.Module):
    def __init__(self, dim=5):
        super().__init__()
        self.lin = nn.Linear(dim, dim)

    def forward(self, x, edge_index):
        row, col = edge_index
        assert int(edge_index.max()) < x.size(0), "an edge names a node that does not exist"
        deg = degree(col, x.size(0))
        inv = deg.pow(-0.5)
        inv[inv == float("inf")] = 0
        message = self.lin(x)[row] * (inv[row] * inv[col]).unsqueeze(-1)
        return torch.zeros_like(x).index_add(0, col, message)


model = GraphConv()

if __name__ == "__main__":
    torch.export.export(model, (torch.randn(4, 5), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])))
    torch.compile(model, fullgraph=True)(torch.randn(4, 5), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
