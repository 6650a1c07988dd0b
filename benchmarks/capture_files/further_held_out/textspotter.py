"""Scene text: rotated crops by grid_sample, a custom op for binarisation and connected regions from scipy."""

import threading

import torch
import torch.nn.functional as F
from scipy import ndimage
from torch import nn


torch.library.define("spotter::binarise", "(Tensor x, float level) -> Tensor")
torch.library.define("spotter::stretch", "(Tensor x) -> Tensor")


@torch.library.impl("spotter::binarise", "CPU")
def binarise(x, level):
    return (x > level).to(torch.uint8)


@torch.library.register_fake("spotter::binarise")
def binarise_fake(x, level):
    return torch.empty_like(x, dtype=torch.uint8)


@torch.library.impl("spotter::stretch", "CPU")
def stretch(x):
    low, high = x.amin((-2, -1), keepdim=True), x.amax((-2, -1), keepdim=True)
    return (x - low) / (high - low + 1e-6)


class ProbabilityMap(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.shrink = nn.Conv2d(3, channels, 3, padding=1)
        self.out = nn.Conv2d(channels, 1, 1)

    def forward(self, x):
        features = F.relu6(self.shrink(x))
        return features, torch.ops.spotter.stretch(self.out(features))


class CropReader(nn.Module):
    def __init__(self, channels, symbols, size=(2, 6)):
        super().__init__()
        self.size = size
        self.rnn = nn.GRU(channels * size[0], 8, batch_first=True)
        self.out = nn.Linear(8, symbols)

    def crop(self, features, box):
        h, w = features.shape[-2:]
        top, left, bottom, right = box
        ys = torch.linspace(top, bottom - 1, self.size[0]) / max(h - 1, 1) * 2 - 1
        xs = torch.linspace(left, right - 1, self.size[1]) / max(w - 1, 1) * 2 - 1
        grid = torch.stack(torch.meshgrid(ys, xs, indexing="ij")[::-1], -1)
        return F.grid_sample(features[None], grid[None], align_corners=True)[0]

    def forward(self, features, boxes):
        crops = torch.stack([self.crop(features, box) for box in boxes])
        hidden, _ = self.rnn(crops.permute(0, 3, 1, 2).flatten(2))
        return self.out(hidden).log_softmax(-1)


class TextSpotter(nn.Module):
    symbols = "-0123456789"

    def __init__(self, channels=4, level=0.5, smallest=2):
        super().__init__()
        self.map = ProbabilityMap(channels)
        self.reader = CropReader(channels, len(self.symbols))
        self.level, self.smallest = level, smallest
        self.lock = threading.Lock()
        self.served = 0

    def regions(self, mask):
        labels, count = ndimage.label(mask.numpy())
        for rows, columns in ndimage.find_objects(labels):
            if (rows.stop - rows.start) * (columns.stop - columns.start) >= self.smallest:
                yield rows.start, columns.start, rows.stop, columns.stop

    def spell(self, log_probs):
        words = []
        for row in log_probs.argmax(-1):
            row = torch.unique_consecutive(row)
            row = row[row > 0]
            words.append("".join(self.symbols[i] for i in row.tolist()) or "?")
        return words

    def forward(self, images, meta=None):
        meta = meta or {}
        scale = meta.get("scale", 1.0)
        if scale != 1.0:
            images = F.interpolate(images, scale_factor=scale, mode="nearest")
        features, probability = self.map(images)
        masks = torch.ops.spotter.binarise(probability, self.level)[:, 0]
        with self.lock:
            self.served += images.shape[0]
        pages = []
        for feature, mask, p in zip(features, masks, probability[:, 0]):
            boxes = list(self.regions(mask))
            if not boxes:
                pages.append(([], []))
                continue
            scores = [p[t:b, l:r].mean() for t, l, b, r in boxes]
            boxes = [box for score, box in zip(scores, boxes) if score > 0.1]
            pages.append((boxes, self.spell(self.reader(feature, boxes)) if boxes else []))
        return probability, pages


model = TextSpotter().eval()

if __name__ == "__main__":
    torch.export.export(model, (torch.linspace(0, 70, 384).sin().reshape(2, 3, 8, 8),))
    torch.compile(model, fullgraph=True)(torch.linspace(0, 70, 384).sin().reshape(2, 3, 8, 8))
