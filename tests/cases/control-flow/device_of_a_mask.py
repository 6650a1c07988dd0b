"""A mask that is made differently on another device."""

from torch import Tensor, nn


class CausalMask(nn.Module):
    def forward(self, scores: Tensor) -> Tensor:
        # error[control-flow]: scores.device.type == "cuda"
        lowest = -1e4 if scores.device.type == "cuda" else -1e9
        return scores.clamp(min=lowest)
