"""Follows objects through the frames of a video by the overlap and the appearance of their boxes."""

import itertools
from collections import deque
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Track:
    number: int
    box: torch.Tensor
    looks: deque = field(default_factory=lambda: deque(maxlen=3))
    missed: int = 0

    @property
    def appearance(self):
        return F.normalize(torch.stack(list(self.looks)).mean(dim=0), dim=0)

    def update(self, box, look):
        self.box = 0.3 * self.box + 0.7 * box
        self.looks.append(look)
        self.missed = 0


def overlap(first, second):
    """The intersection over union of each pair of boxes."""
    corner = torch.maximum(first[:, None, :2], second[None, :, :2])
    opposite = torch.minimum(first[:, None, 2:], second[None, :, 2:])
    shared = (opposite - corner).clamp(min=0).prod(-1)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(-1) for boxes in (first, second)]
    return shared / (areas[0][:, None] + areas[1][None] - shared).clamp(min=1e-6)


class Appearance(nn.Module):
    def __init__(self, channels, width):
        super().__init__()
        self.conv = nn.Conv2d(channels, width, 3, padding=1)
        self.linear = nn.Linear(width, width)

    def forward(self, frame, boxes):
        features = F.relu(self.conv(frame[None]))[0]
        looks = []
        for left, top, right, bottom in boxes.round().long().tolist():
            region = features[:, top : max(bottom, top + 1), left : max(right, left + 1)]
            looks.append(region.mean(dim=(1, 2)))
        return F.normalize(self.linear(torch.stack(looks)), dim=-1)


class ObjectTracker(nn.Module):
    def __init__(self, channels=3, width=6, patience=1, least=0.4):
        super().__init__()
        self.appearance = Appearance(channels, width)
        self.balance = nn.Parameter(torch.tensor(0.5))
        self.patience = patience
        self.least = least
        self.reset()

    def reset(self):
        self.tracks = []
        self.numbers = itertools.count(1)

    def affinity(self, boxes, looks):
        similar = torch.stack([track.appearance for track in self.tracks]) @ looks.t()
        near = overlap(torch.stack([track.box for track in self.tracks]), boxes)
        return self.balance * near + (1 - self.balance) * similar

    def associate(self, boxes, looks):
        free = set(range(len(boxes)))
        if self.tracks:
            affinity = self.affinity(boxes, looks).detach().clone()
            for _ in range(min(affinity.shape)):
                best = affinity.max()
                if best < self.least:
                    break
                row, column = divmod(int(affinity.argmax()), affinity.shape[1])
                self.tracks[row].update(boxes[column], looks[column])
                free.discard(column)
                affinity[row] = affinity[:, column] = -1
        for column in sorted(free):
            track = Track(next(self.numbers), boxes[column])
            track.looks.append(looks[column])
            self.tracks.append(track)

    def forward(self, frames, boxes, scores):
        self.reset()
        numbers = []
        for frame, found, score in zip(frames, boxes, scores):
            for track in self.tracks:
                track.missed += 1
            sure = score > 0.5
            if sure.any():
                found = found[sure]
                self.associate(found, self.appearance(frame, found))
            self.tracks = [track for track in self.tracks if track.missed <= self.patience]
            numbers.append([track.number for track in self.tracks])
        if not self.tracks:
            return frames.new_zeros(0, 4), numbers
        return torch.stack([track.box for track in self.tracks]), numbers


model = ObjectTracker().eval()

if __name__ == "__main__":
    torch.export.export(
        model,
        (
            torch.linspace(0, 70, 576).sin().reshape(3, 3, 8, 8),
            torch.tensor(
                [
                    [[0.0, 0, 3, 3], [4, 4, 8, 8]],
                    [[0.5, 0, 3.5, 3], [4, 3, 8, 7]],
                    [[1.0, 0, 4, 3], [0, 5, 2, 8]],
                ]
            ),
            torch.tensor([[0.9, 0.8], [0.9, 0.3], [0.7, 0.6]]),
        ),
    )
    torch.compile(model, fullgraph=True)(
        torch.linspace(0, 70, 576).sin().reshape(3, 3, 8, 8),
        torch.tensor(
            [
                [[0.0, 0, 3, 3], [4, 4, 8, 8]],
                [[0.5, 0, 3.5, 3], [4, 3, 8, 7]],
                [[1.0, 0, 4, 3], [0, 5, 2, 8]],
            ]
        ),
        torch.tensor([[0.9, 0.8], [0.9, 0.3], [0.7, 0.6]]),
    )
