"""The number of images in a list."""

from torch import Tensor, nn


class Collate(nn.Module):
    def forward(self, images: list[Tensor]) -> Tensor:
        return images[0].new_zeros((len(images), 3))  # error[len]: len(images)
