"""Video action localiser: clips are sampled from a frame list, proposals are grouped from runs of actionness."""

import itertools

import numpy as np
import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from scipy.ndimage import gaussian_filter1d
from torch import nn


def runs(active):
    """(start, end) of each run of True."""
    start = None
    for i, on in enumerate(itertools.chain(active, [False])):
        if on and start is None:
            start = i
        elif not on and start is not None:
            yield start, i
            start = None


class FrameEncoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3, stride=2, padding=1)

    def forward(self, video):
        b, t = video.shape[:2]
        frames = rearrange(video, "b t c h w -> (b t) c h w")
        pooled = F.relu(self.conv(frames)).mean((-2, -1))
        return rearrange(pooled, "(b t) w -> b t w", b=b, t=t)


class TemporalShift(nn.Module):
    def __init__(self, fold=4):
        super().__init__()
        self.fold = fold

    def forward(self, x):
        out = torch.zeros_like(x)
        c = x.shape[-1] // self.fold
        out[:, :-1, :c] = x[:, 1:, :c]
        out[:, 1:, c : 2 * c] = x[:, :-1, c : 2 * c]
        out[:, :, 2 * c :] = x[:, :, 2 * c :]
        return out


class Localiser(nn.Module):
    def __init__(self, width=8, actions=3, clip=8, sigma=0.7):
        super().__init__()
        self.encode = FrameEncoder(width)
        self.shift = TemporalShift()
        self.context = nn.GRU(width, width, batch_first=True)
        self.position = nn.Parameter(torch.zeros(1, clip, width))
        self.actionness = nn.Linear(width, 1)
        self.classify = nn.Linear(width, actions)
        self.clip, self.sigma = clip, sigma
        self.palette = {0: "jump", 1: "run", 2: "sit"}

    def sample(self, video):
        t = video.shape[1]
        if t < self.clip:
            video = torch.cat((video, repeat(video[:, -1:], "b 1 c h w -> b n c h w", n=self.clip - t)), 1)
        elif t > self.clip:
            video = video[:, np.linspace(0, t - 1, self.clip).astype(np.int64)]
        return video

    def smooth(self, scores):
        smoothed = gaussian_filter1d(scores.detach().numpy(), self.sigma, axis=-1)
        return torch.from_numpy(smoothed)

    def proposals(self, hidden, scores):
        level = scores.mean() + 0.1 * scores.std()
        found = []
        for start, end in runs(scores > level):
            segment = hidden[start:end].mean(0)
            probabilities = self.classify(segment).softmax(-1)
            score, label = probabilities.max(-1)
            found.append({"segment": (start, end), "label": self.palette[int(label)], "score": score})
        found.sort(key=lambda p: p["score"], reverse=True)
        return found

    def forward(self, video):
        video = self.sample(video)
        x = self.shift(self.encode(video)) + self.position
        x, state = self.context(x)
        scores = self.actionness(x).squeeze(-1).sigmoid()
        smooth = self.smooth(scores)
        moving = (video[:, 1:] - video[:, :-1]).abs().mean((1, 2, 3, 4))
        still = (moving < 1e-6).nonzero().flatten()
        if still.numel():
            smooth[still] = 0
        return scores, state[-1], [self.proposals(h, s) for h, s in zip(x, smooth)]


model = Localiser().eval()

if __name__ == "__main__":
    torch.export.export(model, (torch.linspace(0, 90, 1152).sin().reshape(2, 12, 3, 4, 4),))
    torch.compile(model, fullgraph=True)(torch.linspace(0, 90, 1152).sin().reshape(2, 12, 3, 4, 4))
