import torch
from torch import nn


class PairEmbedding(nn.Module):
    """Embeds bytes, and adds an embedding for pairs that the vocabulary knows."""

    def __init__(self, dim=6):
        super().__init__()
        self.bytes = nn.Embedding(256, dim)
        self.pairs = nn.Embedding(4, dim)
        self.vocabulary = {(104, 101): 0, (108, 108): 1, (111, 33): 2}

    def forward(self, ids):
        x = self.bytes(ids)
        found = []
        for row in ids.tolist():
            found.append([self.vocabulary.get(pair, 3) for pair in zip(row, row[1:] + [0])])
        return x + self.pairs(torch.tensor(found))


model = PairEmbedding()

if __name__ == "__main__":
    torch.export.export(model, (torch.tensor([[104, 101, 108, 108, 111, 33], [111, 33, 32, 104, 101, 0]]),))
    torch.compile(model, fullgraph=True)(torch.tensor([[104, 101, 108, 108, 111, 33], [111, 33, 32, 104, 101, 0]]))
