"""A negated search, two calls below."""

from torch import Tensor, nn


def is_new(ids: Tensor, last: int) -> bool:
    return last not in ids  # error[containment]: last not in ids


class NoRepeat(nn.Module):
    def forward(self, scores: Tensor, ids: Tensor) -> Tensor:
        return scores if is_new(ids, 3) else scores - 1
