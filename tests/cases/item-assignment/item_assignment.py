"""Values that are replaced in place."""

from torch import Tensor, nn


class Merge(nn.Module):
    def forward(self, ids: Tensor, audio: Tensor) -> Tensor:
        ids[ids == 7] = 0  # error[item-assignment]: ids[ids == 7]
        return ids + audio
