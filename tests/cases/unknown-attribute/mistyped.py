"""Names that tensors don't have."""
# mypy: disable-error-code="attr-defined"

from torch import Tensor, nn


class Flat(nn.Module):
    def forward(self, x, y: Tensor):  # type: ignore[no-untyped-def]
        x = x.reshpae(-1)  # warning[unknown-attribute]: x.reshpae(-1)
        x = x + y.shpae[0]  # warning[unknown-attribute]: y.shpae[0]
        return x * y.mask_of_it  # warning[unknown-attribute]: x * y.mask_of_it


class Images(nn.Module):
    def forward(self, images, sizes: list[Tensor]):  # type: ignore[no-untyped-def]
        x = images.tensors + images.mask
        return x.reshape(-1) + sizes.total
