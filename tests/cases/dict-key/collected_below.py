"""A dict that is filled in a helper."""

from torch import Tensor, nn


def collect(features: list[Tensor]) -> dict[Tensor, Tensor]:
    table = {}
    for feature in features:
        table[feature.sum()] = feature
    return table


class Collected(nn.Module):
    def forward(self, x: Tensor) -> dict[Tensor, Tensor]:
        return collect([x, x + 1])  # error[dict-key]: return collect([x, x + 1])
