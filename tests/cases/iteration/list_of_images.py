"""A list of images, as detectors take it."""

import torch
from torch import Tensor, nn


class Detector(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Conv2d(3, 8, kernel_size=3)

    def forward(self, images: list[Tensor]) -> Tensor:
        return torch.stack([self.backbone(image).mean() for image in images])  # error[iteration]: images
