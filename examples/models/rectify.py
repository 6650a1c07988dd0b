"""A function with a branch that depends on the values of its input."""

import torch
from torch import Tensor, fx


def rectify(x: Tensor) -> Tensor:
    # Which branch runs depends on the values of x, and while tracing there are none.
    if x.sum() > 0:
        return torch.relu(x)
    else:
        return torch.neg(x)


if __name__ == "__main__":
    print(fx.symbolic_trace(rectify).code)
