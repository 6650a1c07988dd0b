import torch
import torch.nn.functional as F
from torch import nn


class Sampler(nn.Module):
    def __init__(self, dim=6, vocab=11):
        super().__init__()
        self.head = nn.Linear(dim, vocab)

    def forward(self, hidden, temperature, top_p):
        logits = self.head(hidden)
        if temperature == 0:
            return logits.argmax(-1)
        logits = logits / temperature
        if 0 < top_p < 1:
            ordered, index = logits.sort(descending=True)
            beyond = ordered.softmax(-1).cumsum(-1) > top_p
            beyond[..., 1:] = beyond[..., :-1].clone()
            beyond[..., 0] = False
            logits = logits.masked_fill(beyond.scatter(-1, index, beyond), float("-inf"))
        return F.softmax(logits, -1).cumsum(-1).argmax(-1)


model = Sampler()

if __name__ == "__main__":
    torch.export.export(model, (torch.randn(2, 6), torch.tensor(0.7), torch.tensor(0.9)))
    torch.compile(model, fullgraph=True)(torch.randn(2, 6), torch.tensor(0.7), torch.tensor(0.9))
