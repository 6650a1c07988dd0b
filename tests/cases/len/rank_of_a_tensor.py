"""The rank of a tensor as the length of its shape."""

import torch
import torch.fx


def flatten_spatial(mask: torch.Tensor) -> torch.Tensor:
    spatial = len(mask.shape[2:])  # error[len]: len(mask.shape[2:])
    return mask.flatten(-spatial)


torch.fx.symbolic_trace(flatten_spatial)
