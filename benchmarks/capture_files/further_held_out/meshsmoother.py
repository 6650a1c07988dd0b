"""Mesh network: Laplacian smoothing, edges derived from faces and pooling by collapsing short edges."""

import numpy as np
import torch
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from torch import nn


def unique_edges(faces):
    edges = torch.cat((faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]))
    return torch.unique(edges.sort(dim=1).values, dim=0)


def face_normals(vertices, faces):
    a, b, c = vertices[faces].unbind(1)
    return torch.linalg.cross(b - a, c - a, dim=-1)


def vertex_normals(vertices, faces):
    normals = face_normals(vertices, faces)
    out = torch.zeros_like(vertices)
    for corner in range(3):
        out = out.index_add(0, faces[:, corner], normals)
    return nn.functional.normalize(out, dim=-1)


def components(faces, count):
    pairs = faces[:, [0, 1, 1, 2]].reshape(-1, 2).cpu().numpy()
    graph = coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    return connected_components(graph, directed=False)


class LaplacianLayer(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.own = nn.Linear(channels, out)
        self.near = nn.Linear(channels, out, bias=False)

    def forward(self, x, edges):
        both = torch.cat((edges, edges.flip(1)))
        total = torch.zeros_like(x).index_add_(0, both[:, 0], x[both[:, 1]])
        degree = torch.zeros(x.shape[0]).index_add_(0, both[:, 0], torch.ones(both.shape[0]))
        return torch.relu(self.own(x) + self.near(total / degree.clamp(min=1).unsqueeze(1)))


class EdgeCollapse(nn.Module):
    def __init__(self, ratio):
        super().__init__()
        self.ratio = ratio

    def forward(self, x, vertices, edges):
        lengths = (vertices[edges[:, 0]] - vertices[edges[:, 1]]).norm(dim=1)
        target = torch.arange(x.shape[0])
        budget = int(x.shape[0] * (1 - self.ratio))
        for i in lengths.argsort():
            a, b = edges[i]
            if target[a] == a and target[b] == b and budget > 0:
                target[b] = a
                budget -= 1
        kept, inverse = target.unique(return_inverse=True)
        pooled = torch.zeros(kept.shape[0], x.shape[1]).index_add(0, inverse, x)
        return pooled / inverse.bincount().unsqueeze(1)


class MeshNet(nn.Module):
    def __init__(self, width=6, classes=3, smoothing=2):
        super().__init__()
        self.layers = nn.ModuleList([LaplacianLayer(6, width), LaplacianLayer(width, width)])
        self.pool = EdgeCollapse(0.5)
        self.head = nn.Linear(width, classes)
        self.smoothing = smoothing

    def smooth(self, vertices, edges):
        while (edges_length := (vertices[edges[:, 0]] - vertices[edges[:, 1]]).norm(dim=1)).max() > 2.5:
            vertices = vertices * (2.0 / edges_length.max())
        return vertices

    def forward(self, vertices, faces):
        assert faces.max() < len(vertices), "a face names a vertex that is not there"
        parts, labels = components(faces, vertices.shape[0])
        edges = unique_edges(faces)
        vertices = self.smooth(vertices, edges)
        x = torch.cat((vertices, vertex_normals(vertices, faces)), -1)
        for layer in self.layers:
            x = layer(x, edges)
        pooled = self.pool(x, vertices, edges)
        per_part = [x[torch.from_numpy(labels == p)].mean(0) for p in range(parts)]
        return self.head(pooled.mean(0)), torch.stack(per_part)


model = MeshNet().eval()

if __name__ == "__main__":
    torch.export.export(
        model,
        (
            torch.linspace(0, 30, 24).sin().mul(2).reshape(8, 3),
            torch.tensor([[0, 1, 2], [0, 2, 3], [1, 2, 3], [4, 5, 6], [4, 6, 7]]),
        ),
    )
    torch.compile(model, fullgraph=True)(
        torch.linspace(0, 30, 24).sin().mul(2).reshape(8, 3),
        torch.tensor([[0, 1, 2], [0, 2, 3], [1, 2, 3], [4, 5, 6], [4, 6, 7]]),
    )
