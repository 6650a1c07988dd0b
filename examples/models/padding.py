"""Padding of sequences."""

from torch import Tensor
from torch.nn import functional


def pad_to_multiple(x: Tensor, multiple: int) -> Tensor:
    """Pads a sequence (batch, length, features) with zeros so that ``multiple`` divides its length."""
    missing = -x.shape[1] % multiple
    # With a real tensor this is a plain number; while tracing it is a value that depends on the input.
    if missing > 0:
        x = functional.pad(x, (0, 0, 0, missing))
    return x
