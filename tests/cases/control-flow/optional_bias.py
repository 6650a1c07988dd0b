"""An optional input: whether it is there can't be asked by its truth."""

from torch import Tensor, nn


class Attend(nn.Module):
    def forward(self, scores: Tensor, bias: Tensor | None = None) -> Tensor:
        if bias:  # error[control-flow]: bias
            scores = scores + bias
        return scores.softmax(-1)
