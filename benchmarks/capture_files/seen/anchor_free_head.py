import torch
from torch import nn


class AnchorFreeHead(nn.Module):
    """Centers, sizes and scores on a grid; keeps what scores well."""

    def __init__(self, channels=8, classes=3, score_threshold=0.5):
        super().__init__()
        self.cls = nn.Conv2d(channels, classes, 1)
        self.box = nn.Conv2d(channels, 4, 1)
        self.score_threshold = score_threshold
        self.stride = 8

    def forward(self, feats):
        scores = self.cls(feats).sigmoid()
        boxes = self.box(feats).relu() * self.stride
        best, labels = scores.max(dim=1)
        keep = best > self.score_threshold
        if keep.sum() == 0:
            return feats.new_zeros(0, 4), feats.new_zeros(0), labels.new_zeros(0)
        boxes = boxes.permute(0, 2, 3, 1)[keep]
        return boxes, best[keep], labels[keep]


model = AnchorFreeHead()
model.eval()

if __name__ == "__main__":
    torch.export.export(model, (torch.randn(2, 8, 4, 4),))
    torch.compile(model, fullgraph=True)(torch.randn(2, 8, 4, 4))
