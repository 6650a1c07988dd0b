"""Recognizes speech with a small attention encoder, and collapses the best CTC path of each recording to text."""

import itertools

import torch
import torch.nn.functional as F
from torch import nn

ALPHABET = "_abcdefgh"
BLANK = 0


class Subsampling(nn.Module):
    def __init__(self, mels, width):
        super().__init__()
        self.first = nn.Conv1d(mels, width, 3, stride=2, padding=1)
        self.second = nn.Conv1d(width, width, 3, stride=2, padding=1)

    def forward(self, mels, lengths):
        x = F.relu(self.first(mels.transpose(1, 2)))
        x = F.relu(self.second(x)).transpose(1, 2)
        lengths = torch.div(lengths + 3, 4, rounding_mode="floor")
        if lengths.max() > x.shape[1]:
            lengths = lengths.clamp(max=x.shape[1])
        return x, lengths


class Encoder(nn.Module):
    def __init__(self, width, heads=2):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.feed = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x, lengths):
        padding = torch.arange(x.shape[1]) >= lengths.unsqueeze(1)
        attended, _ = self.attention(x, x, x, key_padding_mask=padding, need_weights=False)
        x = x + attended
        return x + self.feed(x)


def collapse(path):
    """Yield each token that is spoken, with the number of frames that it lasts."""
    for token, run in itertools.groupby(path):
        if token != BLANK:
            yield token, len(list(run))


class CtcRecognizer(nn.Module):
    def __init__(self, mels=6, width=8, depth=2):
        super().__init__()
        self.subsampling = Subsampling(mels, width)
        self.encoders = nn.ModuleList(Encoder(width) for _ in range(depth))
        self.output = nn.Linear(width, len(ALPHABET))

    def decode(self, log_probs, lengths):
        texts, frames = [], []
        for row, length in zip(log_probs.argmax(-1), lengths):
            pairs = list(collapse(row[:length].tolist()))
            texts.append("".join(ALPHABET[token] for token, _ in pairs))
            frames.append(sum(count for _, count in pairs))
        return texts, frames

    def confidence(self, log_probs, lengths):
        best, tokens = log_probs.max(-1)
        inside = torch.arange(best.shape[1]) < lengths.unsqueeze(1)
        spoken = best[inside & (tokens != BLANK)]
        if spoken.numel() == 0:
            return log_probs.new_zeros(())
        return spoken.exp().mean()

    def forward(self, mels, lengths, targets, target_lengths):
        x, lengths = self.subsampling(mels, lengths)
        for encoder in self.encoders:
            x = encoder(x, lengths)
        log_probs = F.log_softmax(self.output(x), dim=-1)
        loss = F.ctc_loss(log_probs.transpose(0, 1), targets, lengths, target_lengths, reduction="none")
        impossible = torch.isinf(loss)
        if impossible.any():
            loss = loss[~impossible]
        texts, frames = self.decode(log_probs.detach(), lengths)
        return {
            "loss": loss.mean(),
            "confidence": self.confidence(log_probs, lengths),
            "spoken": torch.tensor(frames),
            "texts": texts,
        }


model = CtcRecognizer().eval()

if __name__ == "__main__":
    torch.export.export(
        model,
        (
            torch.linspace(0, 60, 288).sin().reshape(2, 24, 6),
            torch.tensor([24, 17]),
            torch.tensor([[1, 2, 3], [4, 5, 0]]),
            torch.tensor([3, 2]),
        ),
    )
    torch.compile(model, fullgraph=True)(
        torch.linspace(0, 60, 288).sin().reshape(2, 24, 6),
        torch.tensor([24, 17]),
        torch.tensor([[1, 2, 3], [4, 5, 0]]),
        torch.tensor([3, 2]),
    )
