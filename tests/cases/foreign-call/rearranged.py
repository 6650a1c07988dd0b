"""Another library that takes tensors."""

import einops
from torch import Tensor, nn


class Rearranged(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        # error[foreign-call]: einops.rearrange(x, "b c h w -> b (h w) c")
        return einops.rearrange(x, "b c h w -> b (h w) c")
