"""Policies get spaces of observations and actions that fit their layers."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

from fx_lsp.agent.building.build import own_error
from fx_lsp.agent.building.custom_tracer import tracer_for
from fx_lsp.agent.inventing.argument_synthesis import invent_arguments
from fx_lsp.agent.inventing.example_spaces import IMAGE, VECTOR, example_spaces
from fx_lsp.agent.inventing.invented_values import InventedModule
from fx_lsp.agent.known_packages import gymnasium_spaces as spaces


def made(cls: type) -> Any:
    """An instance of the class with invented arguments."""
    tracer = tracer_for(None, (InventedModule,))
    return invent_arguments(cls, globals(), partial(own_error, tracer, None), on_meta=False).root


class Convolutional(nn.Module):
    """Asks a sample how many numbers its layers make of an image."""

    def __init__(self, space: spaces.Space) -> None:
        assert isinstance(space, spaces.Box), f"{space} is no box"
        super().__init__()
        assert space.shape is not None
        self.layers = nn.Sequential(nn.Conv2d(space.shape[0], 32, kernel_size=8, stride=4), nn.Flatten())
        with torch.no_grad():
            width = self.layers(torch.as_tensor(space.sample()[None]).float()).shape[1]
        self.linear = nn.Linear(width, 16)

    def forward(self, x: Any) -> Any:
        return self.linear(self.layers(x))


class Combined(nn.Module):
    """Has a layer for each part of an observation."""

    def __init__(self, space: spaces.Dict) -> None:
        super().__init__()
        self.layers = nn.ModuleDict(
            {key: Convolutional(part) if len(part.shape) == 3 else nn.Flatten() for key, part in space.spaces.items()}
        )

    def forward(self, observations: Any) -> Any:
        return torch.cat([layer(observations[key]) for key, layer in self.layers.items()], 1)


class Linear(nn.Module):
    def __init__(self, space: spaces.Box, actions: spaces.Discrete) -> None:
        super().__init__()
        assert space.shape is not None
        self.layer = nn.Linear(space.shape[0], actions.n)

    def forward(self, x: Any) -> Any:
        return self.layer(x)


class AnySpace(nn.Module):
    """Does not say which space it takes."""

    def __init__(self, space: spaces.Space) -> None:
        super().__init__()
        self.layers = Combined(space).layers  # type: ignore[arg-type]

    def forward(self, observations: Any) -> Any:
        return observations


class OnlyBoxes(nn.Module):
    """Fails for another reason than that of its space."""

    def __init__(self, space: spaces.Box) -> None:
        super().__init__()
        self.space = space

    def forward(self, observations: Any) -> Any:
        raise ValueError("not now")


def test_where_a_box_is_taken_no_other_space_is_tried() -> None:
    assert isinstance(made(OnlyBoxes).space, spaces.Box)


def test_where_any_space_is_taken_others_are_tried() -> None:
    assert {*made(AnySpace).layers} == {"image", "vector"}


def test_a_convolution_gets_images() -> None:
    assert made(Convolutional).layers[0].in_channels == IMAGE[0]


def test_a_dictionary_has_images_and_numbers() -> None:
    assert [type(layer) for layer in made(Combined).layers.values()] == [Convolutional, nn.Flatten]


def test_a_linear_layer_gets_numbers() -> None:
    assert made(Linear).layer.in_features == VECTOR[0]


def test_spaces_that_cannot_be_made_have_no_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, *args: object) -> None:
        raise AttributeError("module 'numpy' has no attribute 'bool8'")

    monkeypatch.setattr(spaces.Box, "__init__", broken)
    assert example_spaces(spaces.Box) == example_spaces(spaces.Dict) == ()


def test_other_classes_are_no_spaces() -> None:
    assert example_spaces(dict) == example_spaces(spaces.Discrete) == example_spaces(Linear) == ()
