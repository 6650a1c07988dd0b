"""Lists and dicts of tensors get an item for each submodule that works on one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from fx_lsp.agent.searching.item_shapes import LARGEST_SIDE, items_for_submodules
from fx_lsp.agent.searching.solved_inputs import solutions
from fx_lsp.agent.searching.wanted_inputs import TensorLike
from fx_lsp.agent.searching.written_lists import WrittenList, written_dicts

WIDTHS = (8, 16, 32)


class Pyramid(nn.Module):
    """Adds each level, twice as large, to the one before."""

    def __init__(self) -> None:
        super().__init__()
        self.lateral = nn.ModuleList([nn.Conv2d(width, 4, 1) for width in WIDTHS])

    def forward(self, features: Any) -> Any:
        levels = [layer(level) for layer, level in zip(self.lateral, features, strict=False)]
        for at in range(len(levels) - 1, 0, -1):
            levels[at - 1] = levels[at - 1] + nn.functional.interpolate(levels[at], scale_factor=2)
        return levels


class Fusion(nn.Module):
    """Two branches of an image, in a list that is changed in place."""

    def __init__(self) -> None:
        super().__init__()
        self.branches = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for width in WIDTHS[:2]])
        self.down = nn.Conv2d(WIDTHS[0], WIDTHS[1], 3, 2, 1)

    def forward(self, x: Any) -> Any:
        for at in range(2):
            x[at] = self.branches[at](x[at])
        return [x[0], x[1] + self.down(x[0])]


class Skips(nn.Module):
    """An image, and what an encoder has kept of it before it became smaller."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.ModuleList([nn.ConvTranspose2d(16, 8, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)])
        self.convs = nn.ModuleList([nn.Conv2d(16, 8, 1), nn.Conv2d(32, 16, 1)])

    def forward(self, x: Any, skips: Any) -> Any:
        for at in range(1, -1, -1):
            x = self.convs[at](torch.cat([self.up[at](x), skips[at]], 1))
        return x


class Named(nn.Module):
    """A submodule for each of some inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.encoders = nn.ModuleDict({"image": nn.Linear(12, 4), "text": nn.Linear(20, 4)})

    def forward(self, features: Any) -> Any:
        return sum(self.encoders[name](value) for name, value in features.items() if name in self.encoders)


class Degrees(nn.Module):
    """Dicts whose keys are computed."""

    def forward(self, x: Any, y: Any) -> Any:
        out = {}
        for degree in range(2):
            key = str(degree)
            out[key] = torch.cat([x[key], y[key]], 1) if key in y else x[key]
        return out


def shapes_in(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shapes_in(item) for key, item in value.items()}
    return [shapes_in(item) for item in value] if isinstance(value, list) else tuple(value.shape)


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        (Pyramid(), {"features": [(2, 8, 32, 32), (2, 16, 16, 16), (2, 32, 8, 8)]}),
        (Fusion(), {"x": [(2, 8, 16, 16), (2, 16, 8, 8)]}),
        (Skips(), {"x": (2, 32, 4, 4), "skips": [(2, 8, 16, 16), (2, 16, 8, 8)]}),
        (Named(), {"features": {"image": (2, 12), "text": (2, 20)}}),
        (Degrees(), {"x": {"0": (2, 16), "1": (2, 16)}, "y": {"0": (2, 16)}}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_inputs_that_suit_the_submodules(root: nn.Module, expected: dict[str, Any]) -> None:
    given = next(solutions(root, {}))
    with torch.no_grad():
        root(*given.args, **given.kwargs)
    found = next(solutions(root, {}))  # the program may have changed the other
    assert shapes_in(found.kwargs) == expected


def test_a_list_that_needs_more_items_than_there_are_submodules_gets_none() -> None:
    assert not [*items_for_submodules(Fusion(), ["x"], {"x": WrittenList(3)}, [])]
    assert next(items_for_submodules(Fusion(), ["x"], {"x": WrittenList(1)}, [])) == {
        ("x", 0): TensorLike((2, 8, 16, 16)),
        ("x", 1): TensorLike((2, 16, 8, 8)),
    }


def test_dicts_are_parameters_of_which_all_keys_are_asked() -> None:
    assert written_dicts(Named().forward) == ["features"]
    assert written_dicts(Degrees().forward) == []


class Weights(nn.Module):
    """Weights that are far too wide to be multiplied with each other, and a list of many levels."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterDict({"a": torch.zeros(1, 10**6), "b": torch.zeros(1, 10**6)})
        self.levels = nn.ModuleList([nn.Conv2d(3, 3, 1) for _ in range(8)])
        self.odd = nn.ModuleList([nn.LayerNorm(4), nn.LayerNorm(4)])
        vars(self.odd[0])["normalized_shape"] = 4

    def forward(self, features: Any) -> Any:
        return [layer(level) for layer, level in zip(self.levels, features, strict=True)]


def test_no_item_is_huge_or_empty() -> None:
    found = [*items_for_submodules(Weights(), ["features"], {"features": WrittenList()}, [])]
    assert found
    for wanted in found:
        assert len(wanted) == 8
        assert all(0 < size <= LARGEST_SIDE for like in wanted.values() for size in like.shape)
