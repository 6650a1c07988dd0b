"""A guard that compares sizes, as vision transformers have it."""

from torch import Tensor, nn


class PatchEmbedding(nn.Module):
    def __init__(self, image_size: int = 224, patch_size: int = 16) -> None:
        super().__init__()
        self.image_size = image_size
        self.projection = nn.Conv2d(3, 64, kernel_size=patch_size, stride=patch_size)

    def forward(self, pixels: Tensor) -> Tensor:
        _, _, height, width = pixels.shape
        # error[control-flow]: width != self.image_size
        if height != self.image_size or width != self.image_size:  # error[control-flow]: height != self.image_size
            raise ValueError("wrong size")
        patches: Tensor = self.projection(pixels)
        return patches.flatten(2).transpose(1, 2)
