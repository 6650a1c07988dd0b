"""Values in texts: as keys, which is wrong, and in messages, which does no harm."""
# mypy: disable-error-code="no-untyped-call"

import torch
from torch import Tensor, nn


class Bias(nn.Module):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        key = str(x.device)  # warning[text]: str(x.device)
        size = f"{x.shape[0]}x{x.shape[1]}"  # warning[text]: f"{x.shape[0]}x{x.shape[1]}"
        kind = repr(x.dtype)  # warning[text]: repr(x.dtype)
        return {key: x, size: x + 1, kind: x + 2}


class Checked(nn.Module):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        torch._assert(x.dim() == 2, f"two dimensions, not {x.dim()}")
        print(f"{x}")
        return {f"{len(self._modules)}": x}
