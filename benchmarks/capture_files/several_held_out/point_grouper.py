"""Samples points that are far apart, and groups their neighbours."""

import torch
from torch import nn


class PointGrouper(nn.Module):
    def __init__(self, channels=3, width=8, centers=3, radius=1.0):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(channels, width), nn.ReLU())
        self.centers = centers
        self.radius = radius

    def sample(self, points):
        distance = torch.full((points.shape[0],), float("inf"))
        chosen = [0]
        for _ in range(self.centers - 1):
            step = (points - points[chosen[-1]]).pow(2).sum(-1)
            distance = torch.minimum(distance, step)
            chosen.append(distance.argmax().item())
        return chosen

    def forward(self, points):
        span = float(points.max() - points.min())
        if span > 1:
            points = points / span
        features = self.mlp(points)
        groups = []
        for center in self.sample(points):
            near = (points - points[center]).norm(dim=-1) < self.radius
            members = near.nonzero().squeeze(1)
            if len(members) == 0:
                groups.append(features[center])
                continue
            groups.append(features[members].amax(dim=0))
        out = torch.stack(groups)
        assert not torch.isinf(out).any(), "the features are infinite"
        return {"groups": out, "spread": out.detach().numpy().std()}


model = PointGrouper().eval()

if __name__ == "__main__":
    torch.export.export(model, (torch.linspace(-2, 2, 18).reshape(6, 3),))
    torch.compile(model, fullgraph=True)(torch.linspace(-2, 2, 18).reshape(6, 3))
