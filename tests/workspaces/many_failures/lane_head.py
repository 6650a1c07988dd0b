"""Post-processing in a lane detector."""

import torch
from torch import nn


class LaneHead(nn.Module):
    def __init__(self, rows=6, cols=8, lanes=2):
        super().__init__()
        self.conv = nn.Conv2d(4, lanes, 1)
        self.rows = rows
        self.min_points = 2

    def fit(self, ys, xs):
        if ys.numel() < self.min_points:
            return torch.zeros(2)
        A = torch.stack([ys, torch.ones_like(ys)], 1)
        return torch.linalg.lstsq(A, xs[:, None]).solution[:, 0]

    def forward(self, feats):
        maps = self.conv(feats).sigmoid()
        lanes = []
        for b in range(maps.size(0)):
            for lane in maps[b]:
                ys, xs = torch.nonzero(lane > 0.0, as_tuple=True)
                coef = self.fit(ys.float(), xs.float())
                lanes.append(coef)
        stacked = torch.stack(lanes)
        if stacked.isnan().any():
            stacked = torch.nan_to_num(stacked)
        conf = maps.max().item()
        return {"lanes": stacked, "conf": conf}


if __name__ == "__main__":
    model = LaneHead()
    model(torch.ones(1, 4, 6, 8))
