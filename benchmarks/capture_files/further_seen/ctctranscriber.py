"""Speech recogniser with a packed LSTM encoder and a best-path CTC decoder that returns text."""

import logging
from itertools import groupby

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

logger = logging.getLogger(__name__)

ALPHABET = "-abcdefg '"


class Subsample(nn.Module):
    def __init__(self, mel, width):
        super().__init__()
        self.conv = nn.Conv1d(mel, width, 3, stride=2, padding=1)

    def forward(self, x, lengths):
        x = F.gelu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        return x, torch.div(lengths + 1, 2, rounding_mode="floor")


class Encoder(nn.Module):
    def __init__(self, mel, width):
        super().__init__()
        self.subsample = Subsample(mel, width)
        self.rnn = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)

    def mask(self, lengths, frames):
        positions = torch.arange(frames, device=lengths.device)
        return positions[None, :] < lengths[:, None]

    def forward(self, mel, lengths):
        x, lengths = self.subsample(mel, lengths)
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        x, _ = self.rnn(packed)
        x, _ = pad_packed_sequence(x, batch_first=True)
        x = x * self.mask(lengths, x.size(1)).unsqueeze(-1)
        return x, lengths


def collapse(path, blank=0):
    return [token for token, _ in groupby(path) if token != blank]


class Transcriber(nn.Module):
    def __init__(self, mel=6, width=12, alphabet=ALPHABET):
        super().__init__()
        self.alphabet = alphabet
        self.encoder = Encoder(mel, width)
        self.head = nn.Linear(width, len(alphabet))
        self.register_buffer("mean", torch.zeros(mel))
        self.register_buffer("frames_seen", torch.zeros(1, dtype=torch.long))

    @property
    def blank(self):
        return self.alphabet.index("-")

    def normalise(self, mel, lengths):
        if self.training:
            self.mean.lerp_(mel.mean((0, 1)), 0.1)
        self.frames_seen += lengths.sum()
        return mel - self.mean

    def text(self, log_probs, length):
        path = log_probs[:length].argmax(-1)
        tokens = collapse(path.tolist(), self.blank)
        return "".join(self.alphabet[t] for t in tokens)

    def forward(self, mel, lengths):
        if mel.dim() != 3:
            raise ValueError(f"expected (batch, frames, mel), got {tuple(mel.shape)}")
        if lengths.max() > mel.size(1):
            raise ValueError("a length is longer than the padded batch")
        mel = self.normalise(mel, lengths)
        hidden, lengths = self.encoder(mel, lengths)
        log_probs = self.head(hidden).log_softmax(-1)
        confidence = log_probs.max(-1).values.mean().exp()
        texts = [self.text(row, n) for row, n in zip(log_probs, lengths)]
        logger.debug("decoded %d utterances, confidence %.3f", len(texts), confidence)
        return texts, log_probs, confidence


model = Transcriber().eval()

if __name__ == "__main__":
    torch.export.export(model, (torch.linspace(0, 60, 120).sin().reshape(2, 10, 6), torch.tensor([10, 7])))
    torch.compile(model, fullgraph=True)(torch.linspace(0, 60, 120).sin().reshape(2, 10, 6), torch.tensor([10, 7]))
