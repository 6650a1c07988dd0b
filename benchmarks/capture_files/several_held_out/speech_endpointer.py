"""Finds where speech ends in each recording of a batch, and pools the frames before that."""

import logging

import torch
from torch import nn

logger = logging.getLogger(__name__)


class SpeechEndpointer(nn.Module):
    def __init__(self, mels=6, hidden=8, patience=2):
        super().__init__()
        self.encoder = nn.GRU(mels, hidden, batch_first=True)
        self.score = nn.Linear(hidden, 1)
        self.patience = patience

    def forward(self, mels, lengths):
        if torch.isnan(mels).any():
            raise ValueError("the spectrogram contains NaN")
        longest = int(lengths.max())
        hidden, _ = self.encoder(mels[:, :longest])
        active = self.score(hidden).squeeze(-1) > 0
        pooled, ends = [], []
        for row, (frames, length) in enumerate(zip(hidden, lengths.tolist())):
            end = length
            quiet = 0
            for position in range(length):
                if active[row, position]:
                    quiet = 0
                else:
                    quiet += 1
                if quiet > self.patience:
                    end = position
                    break
            pooled.append(frames[: max(end, 1)].mean(dim=0))
            ends.append(end)
        logger.debug("speech ends after %s frames", ends)
        return torch.stack(pooled), torch.tensor(ends)


model = SpeechEndpointer()

if __name__ == "__main__":
    torch.export.export(model, (torch.linspace(-1, 1, 60).reshape(2, 5, 6), torch.tensor([5, 3])))
    torch.compile(model, fullgraph=True)(torch.linspace(-1, 1, 60).reshape(2, 5, 6), torch.tensor([5, 3]))
