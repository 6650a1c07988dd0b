"""Tokens that are shifted to the right, as sequence models do."""

import torch.fx
from torch import Tensor


def shift_right(ids: Tensor, start: int) -> Tensor:
    shifted = ids.new_zeros(ids.shape)
    shifted[:, 1:] = ids[:, :-1].clone()  # error[item-assignment]: shifted[:, 1:]
    shifted[:, 0] = start  # error[item-assignment]: shifted[:, 0]
    return shifted


torch.fx.symbolic_trace(shift_right, concrete_args={"start": 2})
