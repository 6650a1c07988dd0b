"""A softmax over clusters of words: frequent words have an output of their own."""

import torch
import torch.nn.functional as F
from torch import nn


class ClusterSoftmax(nn.Module):
    def __init__(self, width=8, cutoffs=(4, 8, 12)):
        super().__init__()
        self.cutoffs = (0, *cutoffs)
        self.head = nn.Linear(width, cutoffs[0] + len(cutoffs) - 1)
        self.tails = nn.ModuleList(
            nn.Linear(width, high - low) for low, high in zip(cutoffs[:-1], cutoffs[1:])
        )

    def forward(self, hidden, target):
        if target.max() >= self.cutoffs[-1]:
            raise ValueError("a target is not in the vocabulary")
        used = 0
        output = hidden.new_zeros(target.shape[0])
        head = F.log_softmax(self.head(hidden), dim=-1)
        for number, (low, high) in enumerate(zip(self.cutoffs[:-1], self.cutoffs[1:])):
            mask = (target >= low) & (target < high)
            rows = mask.nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            if number == 0:
                values = head[rows].gather(1, target[rows].unsqueeze(1)).squeeze(1)
            else:
                tail = F.log_softmax(self.tails[number - 1](hidden[rows]), dim=-1)
                values = tail.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1) + head[rows, self.cutoffs[1] + number - 1]
            output = output.index_copy(0, rows, values)
            used += rows.shape[0]
        if used != target.shape[0]:
            raise RuntimeError("a target was left out")
        loss = -output.mean()
        if loss.isnan():
            loss = torch.zeros_like(loss)
        return output, loss


model = ClusterSoftmax()

if __name__ == "__main__":
    torch.export.export(model, (torch.linspace(-1, 1, 48).reshape(6, 8), torch.tensor([0, 5, 9, 2, 11, 6])))
    torch.compile(model, fullgraph=True)(torch.linspace(-1, 1, 48).reshape(6, 8), torch.tensor([0, 5, 9, 2, 11, 6]))
