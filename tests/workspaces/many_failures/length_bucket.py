"""An encoder for padded sequences that trims the padding."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class LengthBucket(nn.Module):
    def __init__(self, vocab=20, dim=6):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, dim, batch_first=True)

    def trim(self, tokens):
        lengths = (tokens != 0).sum(1)
        longest = lengths.max().item()
        if longest == 0:
            raise ValueError("empty batch")
        return tokens[:, :longest], lengths

    def forward(self, tokens):
        tokens, lengths = self.trim(tokens)
        if (lengths == 0).any():
            lengths = lengths.clamp(min=1)
        packed = pack_padded_sequence(self.embed(tokens), lengths.cpu(), batch_first=True, enforce_sorted=False)
        out, _ = self.lstm(packed)
        out, _ = pad_packed_sequence(out, batch_first=True)
        last = [row[n - 1] for row, n in zip(out, lengths.tolist())]
        return torch.stack(last)


if __name__ == "__main__":
    model = LengthBucket()
    model(torch.tensor([[3, 4, 5, 0], [6, 7, 0, 0]]))
