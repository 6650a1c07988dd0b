"""Blocks that are computed again in the backward pass."""
# mypy: disable-error-code="no-any-return,no-untyped-call"

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = nn.Linear(4, 4)
        self.blocks = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        x = checkpoint(
            self.block, x, use_reentrant=False
        )  # hint[checkpoint]: checkpoint(self.block, x, use_reentrant=False)
        x = checkpoint(
            self.block, x, use_reentrant=True
        )  # hint[checkpoint]: checkpoint(self.block, x, use_reentrant=True)
        blocks = [self.blocks[0], self.blocks[1]]
        return checkpoint_sequential(
            blocks, 2, x, use_reentrant=False
        )  # hint[checkpoint]: checkpoint_sequential(blocks, 2, x, use_reentrant=False)


class Plain(nn.Module):
    checkpointing = False

    def __init__(self) -> None:
        super().__init__()
        self.block = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        if self.checkpointing:
            return checkpoint(self.block, x, use_reentrant=False)
        return self.block(x)
