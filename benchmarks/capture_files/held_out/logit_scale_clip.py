import math

import torch
import torch.nn.functional as F
from torch import nn


class ContrastiveHead(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.image = nn.Linear(dim, dim)
        self.text = nn.Linear(dim, dim)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, image, text):
        a = F.normalize(self.image(image), dim=-1)
        b = F.normalize(self.text(text), dim=-1)
        scale = self.logit_scale.exp().item()
        if scale > 100:
            scale = 100.0
        similarity = a @ b.t()
        best = int(similarity.max(dim=1).indices[0])
        hard = similarity[0, best].item() - similarity[0].mean().item()
        margin = max(0.0, math.tanh(hard))
        return scale * similarity, margin


model = ContrastiveHead()

if __name__ == "__main__":
    torch.export.export(model, (torch.randn(3, 6), torch.randn(3, 6)))
    torch.compile(model, fullgraph=True)(torch.randn(3, 6), torch.randn(3, 6))
