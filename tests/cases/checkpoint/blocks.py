"""Blocks that are computed again in the backward pass."""
# mypy: disable-error-code="no-any-return"

from functools import partial

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

again = partial(checkpoint, use_reentrant=False)
reentrant = partial(checkpoint, use_reentrant=True)
sequential = partial(checkpoint_sequential, use_reentrant=False)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = nn.Linear(4, 4)
        self.blocks = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        x = again(self.block, x)  # hint[checkpoint]: again(self.block, x)
        x = reentrant(self.block, x)  # hint[checkpoint]: reentrant(self.block, x)
        blocks = [self.blocks[0], self.blocks[1]]
        return sequential(blocks, 2, x)  # hint[checkpoint]: sequential(blocks, 2, x)


class Plain(nn.Module):
    checkpointing = False

    def __init__(self) -> None:
        super().__init__()
        self.block = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        if self.checkpointing:
            return again(self.block, x)
        return self.block(x)
