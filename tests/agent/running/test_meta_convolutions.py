"""Convolutions on the meta device refuse the same inputs as on the CPU, and say why."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from torch import nn

from fx_lsp.agent.running.meta_convolutions import CountedChannels

LAYERS: dict[str, tuple[Callable[[], nn.Module], int]] = {
    "1d": (lambda: nn.Conv1d(4, 8, 3), 1),
    "2d": (lambda: nn.Conv2d(4, 8, 3), 2),
    "3d": (lambda: nn.Conv3d(4, 8, 3), 3),
    "groups": (lambda: nn.Conv2d(4, 8, 3, groups=2), 2),
    "circular": (lambda: nn.Conv2d(4, 8, 3, padding=1, padding_mode="circular"), 2),
    "transposed 1d": (lambda: nn.ConvTranspose1d(4, 8, 3), 1),
    "transposed 2d": (lambda: nn.ConvTranspose2d(4, 8, 3), 2),
    "transposed 3d": (lambda: nn.ConvTranspose3d(4, 8, 3), 3),
    "transposed in groups": (lambda: nn.ConvTranspose2d(4, 8, 3, groups=2), 2),
}
TOLD = re.compile(r"input\[[\d, ]+\] to have \d+ channels, but got \d+ channels instead")


def _told(layer: nn.Module, shape: tuple[int, ...], device: str) -> str:
    try:
        with CountedChannels():
            layer.to(device)(torch.zeros(shape, device=device))
    except RuntimeError as error:
        found = TOLD.search(str(error))
        return found[0] if found else str(error)
    return "accepted"


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("channels", [3, 4, 16])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_channels_are_told_as_on_the_cpu(name: str, channels: int, batch: tuple[int, ...]) -> None:
    make, sides = LAYERS[name]
    shape = (*batch, channels, *[8] * sides)
    on_cpu, on_meta = (_told(make(), shape, device) for device in ("cpu", "meta"))
    assert on_meta == on_cpu
    assert (on_cpu == "accepted") == (channels == 4)


def test_other_ranks_are_left_to_torch() -> None:
    assert _told(nn.Conv2d(4, 8, 3), (2, 16), "meta") == _told(nn.Conv2d(4, 8, 3), (2, 16), "cpu")
