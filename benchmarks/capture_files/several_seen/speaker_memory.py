"""Assigns segments of speech to speakers that were heard before, or to new ones."""

import torch
import torch.nn.functional as F
from torch import nn


class SpeakerMemory(nn.Module):
    def __init__(self, width=6, threshold=0.7, most=4):
        super().__init__()
        self.project = nn.Linear(width, width)
        self.threshold = threshold
        self.most = most

    def forward(self, segments, lengths):
        assert lengths.min() > 0, "a segment is empty"
        segments = F.normalize(self.project(segments), dim=-1)
        speakers = []
        labels = []
        for segment, length in zip(segments, lengths.tolist()):
            if length < 2:
                labels.append(-1)
                continue
            if not speakers:
                speakers.append(segment)
                labels.append(0)
                continue
            similar = torch.stack(speakers) @ segment
            best = int(similar.argmax())
            if similar[best] > self.threshold or len(speakers) == self.most:
                speakers[best] = F.normalize(speakers[best] + segment, dim=-1)
                labels.append(best)
            else:
                speakers.append(segment)
                labels.append(len(speakers) - 1)
        labels = torch.tensor(labels)
        counts = torch.bincount(labels.clamp(min=0))
        loudest = counts.argmax().item()
        print(f"most segments are of speaker {loudest}")
        return torch.stack(speakers), labels, segments[labels == loudest]


model = SpeakerMemory()

if __name__ == "__main__":
    torch.export.export(model, (torch.linspace(-1, 1, 30).reshape(5, 6), torch.tensor([4, 1, 3, 2, 5])))
    torch.compile(model, fullgraph=True)(torch.linspace(-1, 1, 30).reshape(5, 6), torch.tensor([4, 1, 3, 2, 5]))
