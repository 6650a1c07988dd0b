"""Segments a medical scan window by window, and blends the windows where they overlap."""

import functools

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


@functools.lru_cache(maxsize=4)
def importance(size, sigma=0.25):
    """How much each pixel of a window counts: those near its border less than those at its center."""
    axis = np.arange(size) - (size - 1) / 2
    curve = np.exp(-0.5 * (axis / (sigma * size)) ** 2)
    return np.outer(curve, curve).astype(np.float32)


class SmallUnet(nn.Module):
    def __init__(self, channels, width, classes):
        super().__init__()
        self.down = nn.Conv2d(channels, width, 3, padding=1)
        self.deep = nn.Conv2d(width, width, 3, padding=1)
        self.up = nn.ConvTranspose2d(width, width, 2, stride=2)
        self.output = nn.Conv2d(2 * width, classes, 1)

    def forward(self, x):
        skip = F.relu(self.down(x))
        x = self.up(F.relu(self.deep(F.max_pool2d(skip, 2))))
        return self.output(torch.cat([x, skip], dim=1))


def bounding_box(mask, margin):
    """The rows and columns that contain all of the mask, with a margin."""
    rows, columns = mask.nonzero(as_tuple=True)
    height, width = mask.shape
    top, bottom = int(rows.min()) - margin, int(rows.max()) + margin + 1
    left, right = int(columns.min()) - margin, int(columns.max()) + margin + 1
    return slice(max(top, 0), min(bottom, height)), slice(max(left, 0), min(right, width))


class SlidingSegmenter(nn.Module):
    def __init__(self, channels=1, width=4, classes=3, window=8, overlap=0.5, air=-0.5):
        super().__init__()
        self.net = SmallUnet(channels, width, classes)
        self.classes = classes
        self.window = window
        self.step = int(window * (1 - overlap))
        self.air = air

    def starts(self, length):
        yield from range(0, length - self.window, self.step)
        yield length - self.window

    def predict(self, scan):
        weight = torch.from_numpy(importance(self.window))
        total = scan.new_zeros(self.classes, *scan.shape[1:])
        count = scan.new_zeros(scan.shape[1:])
        for row in self.starts(scan.shape[1]):
            for column in self.starts(scan.shape[2]):
                place = slice(row, row + self.window), slice(column, column + self.window)
                patch = scan[(slice(None), *place)]
                if patch.std() < 1e-3:
                    total[0][place] += weight
                else:
                    total[(slice(None), *place)] += self.net(patch[None])[0] * weight
                count[place] += weight
        return total / count

    def forward(self, scan, spacing):
        body = scan[0] > self.air
        if not body.any():
            return torch.zeros(scan.shape[1:], dtype=torch.long), torch.zeros(self.classes)
        box = bounding_box(body, margin=1)
        crop = scan[(slice(None), *box)]
        missing = [max(self.window - length, 0) for length in crop.shape[1:]]
        if any(missing):
            crop = F.pad(crop, (0, missing[1], 0, missing[0]), value=-1.0)
        crop = (crop - crop.mean()) / crop.std().clamp(min=1e-3)
        logits = self.predict(crop)
        labels = torch.zeros(scan.shape[1:], dtype=torch.long)
        inside = labels[box]
        inside.copy_(logits.argmax(0)[: inside.shape[0], : inside.shape[1]])
        area = float(spacing.prod())
        areas = torch.tensor([(labels == label).sum().item() * area for label in range(self.classes)])
        return labels, areas


model = SlidingSegmenter().eval()

if __name__ == "__main__":
    torch.export.export(model, (torch.linspace(-1, 12, 240).cos().reshape(1, 12, 20), torch.tensor([0.7, 0.7])))
    torch.compile(model, fullgraph=True)(torch.linspace(-1, 12, 240).cos().reshape(1, 12, 20), torch.tensor([0.7, 0.7]))
