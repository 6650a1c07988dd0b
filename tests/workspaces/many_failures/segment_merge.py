"""Merges superpixels that look alike."""

import torch
from torch import nn


class SegmentMerge(nn.Module):
    def __init__(self, channels=3, limit=0.5):
        super().__init__()
        self.conv = nn.Conv2d(channels, 4, 1)
        self.limit = limit

    def means(self, feats, labels):
        out = {}
        for label in labels.unique().tolist():
            sel = labels == label
            out[label] = feats[:, sel].mean(1)
        return out

    def forward(self, image, labels):
        feats = self.conv(image[None])[0]
        means = self.means(feats, labels)
        merged = labels.clone()
        names = sorted(means)
        for a, b in zip(names, names[1:]):
            gap = (means[a] - means[b]).abs().sum()
            if gap < self.limit:
                merged[merged == b] = a
        try:
            n = len(merged.unique())
        except RuntimeError:
            n = -1
        if merged.float().var() < 0:
            print("impossible")
        return merged, n


if __name__ == "__main__":
    model = SegmentMerge()
    model(torch.zeros(3, 4, 4), torch.tensor([[0, 0, 1, 1]] * 4))
