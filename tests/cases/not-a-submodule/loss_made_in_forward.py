"""A loss that is built where it is used."""

from torch import Tensor, nn


class WithLoss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        criterion = nn.CrossEntropyLoss()
        # error[not-a-submodule]: criterion(self.head(x), labels)
        loss: Tensor = criterion(self.head(x), labels)
        return loss
