"""Point cloud classifier: farthest point sampling, ball query and set abstraction, voxels for the coarse branch."""

import numpy as np
import torch
from torch import nn


def farthest_points(xyz, count):
    b, n, _ = xyz.shape
    chosen = torch.zeros(b, count, dtype=torch.long, device=xyz.device)
    distance = torch.full((b, n), 1e10, device=xyz.device)
    farthest = torch.zeros(b, dtype=torch.long, device=xyz.device)
    rows = torch.arange(b, device=xyz.device)
    for i in range(count):
        chosen[:, i] = farthest
        centre = xyz[rows, farthest].unsqueeze(1)
        distance = torch.minimum(distance, ((xyz - centre) ** 2).sum(-1))
        farthest = distance.max(-1)[1]
    return chosen


def ball_query(radius, samples, xyz, centres):
    b, n, _ = xyz.shape
    index = torch.arange(n, device=xyz.device).repeat(b, centres.shape[1], 1)
    index[torch.cdist(centres, xyz) > radius] = n
    index = index.sort(-1)[0][:, :, :samples]
    first = index[:, :, :1].expand_as(index)
    mask = index == n
    index[mask] = first[mask]
    return index


def gather(points, index):
    rows = torch.arange(points.shape[0]).view(-1, *[1] * (index.dim() - 1))
    return points[rows, index]


class SetAbstraction(nn.Module):
    def __init__(self, count, radius, samples, channels, out):
        super().__init__()
        self.count, self.radius, self.samples = count, radius, samples
        self.mlp = nn.Sequential(nn.Linear(channels + 3, out), nn.ReLU(), nn.Linear(out, out))

    def forward(self, xyz, features):
        centres = gather(xyz, farthest_points(xyz, self.count))
        index = ball_query(self.radius, self.samples, xyz, centres)
        local = gather(xyz, index) - centres.unsqueeze(2)
        if features is not None:
            local = torch.cat((local, gather(features, index)), -1)
        return centres, self.mlp(local).amax(2)


class VoxelBranch(nn.Module):
    def __init__(self, size, out):
        super().__init__()
        self.size = size
        self.linear = nn.Linear(3, out)

    def voxelise(self, cloud):
        cells = torch.floor(cloud / self.size).int()
        unique, inverse, counts = torch.unique(cells, dim=0, return_inverse=True, return_counts=True)
        sums = torch.zeros(len(unique), 3).index_add(0, inverse, cloud)
        return sums / counts.unsqueeze(-1)

    def forward(self, clouds):
        return torch.stack([self.linear(self.voxelise(cloud)).amax(0) for cloud in clouds])


class PointNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.first = SetAbstraction(6, 0.8, 4, 0, 8)
        self.second = SetAbstraction(3, 1.6, 3, 8, 8)
        self.voxels = VoxelBranch(0.5, 8)
        self.head = nn.Linear(16, classes)

    def jitter(self, xyz, sigma=0.01):
        noise = np.random.normal(0, sigma, size=tuple(xyz.shape)).astype(np.float32)
        return xyz + torch.from_numpy(noise)

    def centre(self, xyz):
        xyz = xyz - xyz.mean(1, keepdim=True)
        scale = xyz.norm(dim=-1).max()
        if scale > 1:
            xyz = xyz / scale
        return xyz

    def forward(self, xyz, valid):
        xyz = self.jitter(xyz) if self.training else xyz
        xyz = self.centre(xyz)
        clouds = [points[keep] for points, keep in zip(xyz, valid)]
        assert all(len(cloud) > 0 for cloud in clouds), "an empty cloud"
        centres, features = self.first(xyz, None)
        _, features = self.second(centres, features)
        return self.head(torch.cat((features.amax(1), self.voxels(clouds)), -1))


model = PointNet().eval()

if __name__ == "__main__":
    torch.export.export(
        model, (torch.linspace(0, 90, 72).sin().reshape(2, 12, 3), torch.linspace(-1, 5, 24).gt(0).reshape(2, 12))
    )
    torch.compile(model, fullgraph=True)(
        torch.linspace(0, 90, 72).sin().reshape(2, 12, 3), torch.linspace(-1, 5, 24).gt(0).reshape(2, 12)
    )
