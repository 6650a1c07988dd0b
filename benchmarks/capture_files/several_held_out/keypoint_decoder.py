"""Decodes the position of each joint from its heat map, and links joints to limbs."""

import torch
from torch import nn

LIMBS = ((0, 1), (1, 2))


class KeypointDecoder(nn.Module):
    def __init__(self, channels=4, joints=3, threshold=0.0):
        super().__init__()
        self.head = nn.Conv2d(channels, joints, 1)
        self.threshold = threshold

    def forward(self, features):
        maps = self.head(features)[0]
        points, found = [], []
        for joint, heat in enumerate(maps):
            peak = heat.max()
            if peak < self.threshold:
                points.append(heat.new_zeros(2))
                found.append(False)
                continue
            row, column = divmod(heat.argmax().item(), heat.shape[1])
            if 0 < column < heat.shape[1] - 1:
                shift = torch.sign(heat[row, column + 1] - heat[row, column - 1]) * 0.25
            else:
                shift = heat.new_zeros(())
            points.append(torch.stack([column + shift, torch.as_tensor(float(row))]))
            found.append(bool(peak > self.threshold))
        points = torch.stack(points)
        lengths = []
        for (start, end) in LIMBS:
            if found[start] and found[end]:
                lengths.append((points[start] - points[end]).norm())
        total = sum(lengths) if lengths else points.sum() * 0
        visible = torch.tensor(found)
        mean = points[visible].mean(dim=0)
        if torch.isnan(mean).any():
            mean = torch.zeros(2)
        return points, total, mean


model = KeypointDecoder().eval()

if __name__ == "__main__":
    torch.export.export(model, (torch.linspace(-1, 1, 100).reshape(1, 4, 5, 5),))
    torch.compile(model, fullgraph=True)(torch.linspace(-1, 1, 100).reshape(1, 4, 5, 5))
