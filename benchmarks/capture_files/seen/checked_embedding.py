import torch
from torch import nn


class CheckedEmbedding(nn.Module):
    def __init__(self, vocab=30, dim=6, positions=8):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(positions, dim)
        self.seg = nn.Embedding(2, dim)

    def forward(self, ids, segments):
        n = ids.size(1)
        assert n <= self.pos.num_embeddings, f"{n} tokens, but {self.pos.num_embeddings} positions"
        assert ids.min() >= 0 and ids.max() < self.tok.num_embeddings, f"token {ids.max().item()} is unknown"
        assert torch.all((segments == 0) | (segments == 1)), segments
        if segments.sum() == 0:
            seg = 0.0
        else:
            seg = self.seg(segments)
        return self.tok(ids) + self.pos(torch.arange(n)) + seg


model = CheckedEmbedding()

if __name__ == "__main__":
    torch.export.export(model, (torch.randint(0, 30, (2, 5)), torch.tensor([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1]])))
    torch.compile(model, fullgraph=True)(torch.randint(0, 30, (2, 5)), torch.tensor([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1]]))
