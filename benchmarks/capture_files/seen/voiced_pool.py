import torch
from torch import nn


class VoicedPooling(nn.Module):
    """Averages the frames whose energy says that somebody speaks."""

    def __init__(self, dim=6, floor=0.3):
        super().__init__()
        self.floor = floor
        self.out = nn.Linear(dim, 3)

    def forward(self, x):
        pooled = []
        for frames in x:
            energy = frames.pow(2).mean(-1)
            voiced = frames[energy > self.floor * energy.max()]
            if len(voiced) > 0:
                pooled.append(voiced.mean(0))
            else:
                pooled.append(frames.mean(0))
        return self.out(torch.stack(pooled))


model = VoicedPooling()

if __name__ == "__main__":
    torch.export.export(model, (torch.randn(2, 9, 6),))
    torch.compile(model, fullgraph=True)(torch.randn(2, 9, 6))
