"""Whether a dict that is an input has a key."""

from torch import Tensor, nn


class WithMask(nn.Module):
    def forward(self, inputs: dict[str, Tensor]) -> Tensor:
        if "mask" in inputs:  # error[containment]: "mask" in inputs
            return inputs["image"] * inputs["mask"]
        return inputs["image"]
