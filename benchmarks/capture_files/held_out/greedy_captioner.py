import torch
from torch import nn


class Captioner(nn.Module):
    def __init__(self, vocab=12, dim=8, bos=1, eos=2, max_len=6):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.cell = nn.GRUCell(dim, dim)
        self.out = nn.Linear(dim, vocab)
        self.bos, self.eos, self.max_len = bos, eos, max_len

    def forward(self, image_features):
        h = image_features
        token = torch.full((h.size(0),), self.bos, dtype=torch.long)
        finished = torch.zeros(h.size(0), dtype=torch.bool)
        words = []
        for _ in range(self.max_len):
            h = self.cell(self.embed(token), h)
            token = self.out(h).argmax(-1)
            words.append(token)
            finished |= token == self.eos
            if finished.all():
                break
        return torch.stack(words, dim=1)


model = Captioner()

if __name__ == "__main__":
    torch.export.export(model, (torch.randn(3, 8),))
    torch.compile(model, fullgraph=True)(torch.randn(3, 8))
