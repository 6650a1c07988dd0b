"""A state that two modules share."""

import torch
import torch.fx
from torch import Tensor, nn


class State:
    def __init__(self) -> None:
        self.value: Tensor | None = None


class Reader(nn.Module):
    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state

    def forward(self, x: Tensor) -> Tensor:
        if self.state.value is not None:
            x = torch.mul(x, self.state.value)  # error[two-tracers]: torch.mul(x, self.state.value)
        self.state.value = x
        return x


state = State()
torch.fx.symbolic_trace(Reader(state))
torch.fx.symbolic_trace(Reader(state))
