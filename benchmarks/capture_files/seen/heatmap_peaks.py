import torch
import torch.nn.functional as F
from torch import nn


class PeakFinder(nn.Module):
    """Positions of the peaks of a heat map; its center if there is none."""

    def __init__(self, threshold=0.6):
        super().__init__()
        self.threshold = threshold
        self.smooth = nn.Conv2d(1, 1, 3, padding=1)

    def forward(self, heat):
        heat = self.smooth(heat).sigmoid()
        peaks = (F.max_pool2d(heat, 3, 1, 1) == heat) & (heat > self.threshold)
        where = peaks[0, 0].nonzero()
        if where.size(0) == 0:
            where = torch.tensor([[heat.size(2) // 2, heat.size(3) // 2]])
        scores = heat[0, 0, where[:, 0], where[:, 1]]
        strongest = where[scores.argmax()]
        return where, strongest.float() / heat.size(-1)


model = PeakFinder()

if __name__ == "__main__":
    torch.export.export(model, (torch.randn(1, 1, 6, 6),))
    torch.compile(model, fullgraph=True)(torch.randn(1, 1, 6, 6))
