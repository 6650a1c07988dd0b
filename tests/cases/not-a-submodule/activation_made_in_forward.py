"""A module that is made where it is called."""

from torch import Tensor, nn

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU}


class Gate(nn.Module):
    def __init__(self, activation: str = "relu") -> None:
        super().__init__()
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = ACTIVATIONS[self.activation]()(x)  # error[not-a-submodule]: ACTIVATIONS[self.activation]()(x)
        return out
