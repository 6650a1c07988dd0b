"""Two inputs of which only one may be given."""

import torch
from torch import Tensor, nn


class Either(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 4)

    def forward(self, tokens: Tensor, embedded: Tensor | None = None) -> Tensor:
        # error[exception]: embedded is None
        assert embedded is None
        out: Tensor = torch.relu(self.embedding(tokens))
        return out
