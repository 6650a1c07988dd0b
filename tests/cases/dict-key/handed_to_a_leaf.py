"""A dict by sizes that is handed to a leaf module."""

from torch import Tensor, nn


class Fuse(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pool = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.pool({x.shape[-1]: x})  # error[dict-key]: self.pool({x.shape[-1]: x})
        return out
