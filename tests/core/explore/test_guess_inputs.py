"""Inputs that a module would probably take."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from fxcore.explore.guess_inputs import BATCH, KEYPOINTS, SIDE, TOKENS, guess_inputs, guesses


class Model(nn.Module):
    """Takes one input and hands it to its first layer."""

    def __init__(self, *layers: nn.Module, **attributes: Any) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Anything the first layer takes."""
        return self.layers[0](x)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.Conv2d(3, 4, 3), (BATCH, 3, SIDE, SIDE)),
        (nn.Conv1d(5, 4, 3), (BATCH, 5, SIDE)),
        (nn.Conv3d(1, 4, 3), (BATCH, 1, SIDE, SIDE, SIDE)),
        (nn.Linear(7, 2), (BATCH, TOKENS, 7)),
        (nn.Embedding(99, 8), (BATCH, TOKENS)),
        (nn.LayerNorm(6), (BATCH, TOKENS, 6)),
        (nn.LSTM(9, 4), (BATCH, TOKENS, 9)),
    ],
)
def test_the_first_layer_tells_and_takes_it(layer: nn.Module, shape: tuple[int, ...]) -> None:
    guessed = guess_inputs(Model(nn.ReLU(), layer))
    assert {name: tuple(value.shape) for name, value in guessed.items()} == {"x": shape}
    assert guessed["x"].is_meta
    layer.to("meta")(guessed["x"])


def test_tokens_are_whole_numbers() -> None:
    assert guess_inputs(Model(nn.Embedding(9, 4)))["x"].dtype == torch.long


@pytest.mark.parametrize(
    "attributes",
    [
        {"image_size": 32},
        {"img_size": (32, 32)},
        {"config": SimpleNamespace(image_size=32)},
        {"pretrained_cfg": {"input_size": (3, 32, 32)}},
    ],
)
def test_an_attribute_tells_the_size_of_images(attributes: dict[str, Any]) -> None:
    assert guess_inputs(Model(nn.Conv2d(3, 4, 3), **attributes))["x"].shape == (BATCH, 3, 32, 32)


def test_a_size_that_a_part_was_made_for_is_taken_before_that_of_the_weights() -> None:
    part = Model(nn.Conv2d(3, 4, 3), img_size=64)
    assert guess_inputs(Model(part, pretrained_cfg={"input_size": (3, 32, 32)}))["x"].shape[-1] == 64


def test_what_has_a_default_or_is_given_isnt_guessed() -> None:
    class Several(Model):
        def forward(self, x: Any, y: Any, flag: bool, mask: Any = None, *rest: Any, **options: Any) -> Any:  # type: ignore[override]
            """Flags aren't guessed, either."""

    assert list(guess_inputs(Several(nn.Linear(2, 2)), {"y": 3})) == ["x"]


def test_times_are_vectors() -> None:
    class Denoiser(Model):
        def forward(self, x: Any, time: Any) -> Any:  # type: ignore[override]
            """An image and a time for each."""

    guessed = guess_inputs(Denoiser(nn.Conv2d(3, 4, 3)))
    assert (guessed["x"].dim(), guessed["time"].shape) == (4, (BATCH,))


def test_detection_models_get_targets() -> None:
    class Detector(Model):
        def forward(self, images: Any, targets: Any = None) -> Any:
            """As torchvision has it."""

    targets = guess_inputs(Detector(nn.Conv2d(3, 4, 3)))["targets"]
    assert [{name: tuple(value.shape) for name, value in target.items()} for target in targets] == [
        {"boxes": (BATCH, 4), "labels": (BATCH,), "masks": (BATCH, SIDE, SIDE), "keypoints": (BATCH, KEYPOINTS, 3)}
    ] * BATCH


def test_nothing_is_made_up_of_nothing() -> None:
    assert guess_inputs(Model(nn.ReLU())) == {}
    assert guess_inputs(lambda x: x) == {}


def test_guesses_of_each_size_and_layer_follow_the_likeliest() -> None:
    model = Model(nn.Conv2d(3, 4, 3), nn.Linear(5, 5))
    first, second, third, *_ = guesses(model, sides=(8, 16))
    assert [tuple(guess["x"].shape) for guess in (first, second, third)] == [
        (BATCH, 3, 8, 8),
        (BATCH, 3, 16, 16),
        (BATCH, TOKENS, 5),
    ]


def test_each_input_is_a_tensor_of_its_own() -> None:
    class Pair(Model):
        def forward(self, x: Any, y: Any) -> Any:  # type: ignore[override]
            """Two images."""

    guessed = guess_inputs(Pair(nn.Conv2d(3, 4, 3)))
    assert guessed["x"] is not guessed["y"]
