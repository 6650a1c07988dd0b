import torch
from torch import nn


def make_pad_mask(lengths):
    max_len = lengths.max().item()
    steps = torch.arange(0, max_len, device=lengths.device)
    return steps.unsqueeze(0) >= lengths.unsqueeze(1)


class SpeechEncoder(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.proj = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, frames, lengths):
        mask = make_pad_mask(lengths)
        frames = frames[:, : mask.size(1)]
        h = self.norm(self.proj(frames)).masked_fill(mask.unsqueeze(-1), 0.0)
        if (lengths <= 0).any():
            raise ValueError("empty utterance in the batch")
        return h.sum(1) / lengths.unsqueeze(-1)


model = SpeechEncoder()

if __name__ == "__main__":
    torch.export.export(model, (torch.randn(3, 7, 8), torch.tensor([7, 3, 5])))
    torch.compile(model, fullgraph=True)(torch.randn(3, 7, 8), torch.tensor([7, 3, 5]))
