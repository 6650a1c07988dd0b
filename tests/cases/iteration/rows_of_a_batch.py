"""A tensor whose rows are numbered."""

from torch import Tensor, nn


class PerSample(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, batch: Tensor) -> Tensor:
        total = batch.new_zeros((4,))
        for index, row in enumerate(batch):  # error[iteration]: enumerate(batch)
            total = total + index * self.linear(row)
        return total
