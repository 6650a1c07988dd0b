"""A dict of features as an input, with one put in and one taken out."""

from torch import Tensor, nn


class Neck(nn.Module):
    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        features["pool"] = features["c5"].amax((2, 3))  # error[item-assignment]: features["pool"]
        del features["c5"]  # error[item-assignment]: features["c5"]
        return features
