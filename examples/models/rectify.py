"""A function that does one of two things, depending on the values of its input."""

import torch
from torch import Tensor, fx


def rectify(x: Tensor) -> Tensor:
    # Which way this goes is known only once there is an x, and while tracing there is none.
    if x.sum() > 0:
        return torch.relu(x)
    else:
        return torch.neg(x)


if __name__ == "__main__":
    print(fx.symbolic_trace(rectify).code)
