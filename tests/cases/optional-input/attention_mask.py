"""Inputs that may be left out."""
# mypy: disable-error-code="operator"

import torch.fx
from torch import Tensor, nn


class Attention(nn.Module):
    def forward(self, scores: Tensor, mask: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        if mask is not None:  # information[optional-input]: mask
            scores = scores.masked_fill(mask, -1e4)
        has_bias = bias is not None  # information[optional-input]: bias is not None
        return scores + bias if has_bias else scores


class Loss(nn.Module):
    def forward(self, logits: Tensor, labels: Tensor | None = None, weight: Tensor | None = None) -> Tensor:
        if labels is None:  # information[optional-input]: labels
            return logits
        weight = logits
        return logits - labels if weight is None else weight - labels


class Required(nn.Module):
    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores if mask is None else scores + mask


def positions(x: Tensor, offset: Tensor | None = None) -> Tensor:
    return x if offset is None else x + offset


traced = torch.fx.symbolic_trace(positions, concrete_args={"offset": None})
