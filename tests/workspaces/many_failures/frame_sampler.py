"""Picks frames from a video by how much they change."""

import torch
from torch import nn


class FrameSampler(nn.Module):
    def __init__(self, keep=4, minimum=0.1):
        super().__init__()
        self.keep = keep
        self.minimum = minimum
        self.proj = nn.Linear(12, 6)

    def pick(self, clip):
        picked = [0]
        last = clip[0]
        for t in range(1, clip.shape[0]):
            change = (clip[t] - last).abs().mean()
            if change > self.minimum:
                picked.append(t)
                last = clip[t]
            if len(picked) == self.keep:
                break
        return picked

    def forward(self, video):
        outs = []
        for clip in video:
            idx = self.pick(clip)
            frames = clip[idx].flatten(1)
            outs.append(self.proj(frames).mean(0))
        out = torch.stack(outs)
        spread = out.std().item()
        print("spread:", round(spread, 3))
        assert out.abs().sum() >= 0, "negative?"
        return out


if __name__ == "__main__":
    model = FrameSampler()
    model(torch.arange(2 * 6 * 3 * 4).float().view(2, 6, 3, 4))
