"""Inputs that a module would probably take, made up from what it looks like; on the device meta, so they cost nothing.

They help to guess which way a program goes, and prove nothing: what is concluded from them is a guess, too.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import nn

BATCH = 2
SIDE = 224
"""Pixels, where nothing says how large images are."""
TOKENS = 16
"""The length of sequences."""
_FLAGS = (bool, int, float, str)
_VECTORS = ("time", "timestep", "timesteps", "t", "label", "labels")
_SIZES = ("image_size", "img_size", "input_size", "in_size")


def guess_inputs(root: nn.Module | Callable[..., Any], concrete_args: Any = None) -> dict[str, Any]:
    """A value for each required parameter of a module's forward, by name; nothing where nothing is known.

    The first layer with parameters tells the kind of input: a convolution takes images with its number of channels, an
    embedding numbers of tokens, a linear layer sequences of vectors. The images' size is what an attribute such as
    ``image_size`` says.
    """
    if not isinstance(root, nn.Module):
        return {}
    make = next(_made_by_layers(root), None)
    if make is None:
        return {}
    given = concrete_args if isinstance(concrete_args, Mapping) else {}
    parameters = inspect.signature(root.forward).parameters
    required = [
        name
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty and parameter.annotation not in _FLAGS and name not in given
    ]
    guessed: dict[str, Any] = {
        name: torch.empty(BATCH, device="meta") if name in _VECTORS else make() for name in required
    }
    if "images" in required and "targets" in parameters:
        guessed["targets"] = [_detected() for _ in range(BATCH)]
    return guessed


def _detected() -> dict[str, torch.Tensor]:
    """What is to be seen on an image, in the form that detection models are trained with (torchvision's)."""
    labels = torch.ones(BATCH, dtype=torch.long, device="meta")
    return {"boxes": torch.empty(BATCH, 4, device="meta"), "labels": labels}


def _made_by_layers(root: nn.Module) -> Iterator[Callable[[], torch.Tensor]]:
    for layer in root.modules():
        if isinstance(layer, nn.Embedding):
            yield lambda: torch.ones(BATCH, TOKENS, dtype=torch.long, device="meta")
        channels, dimensions = getattr(layer, "in_channels", None), getattr(layer, "kernel_size", None)
        if isinstance(channels, int) and isinstance(dimensions, tuple):
            sides = itertools.chain(_image_size(root), itertools.repeat(SIDE))
            shape = [BATCH, channels, *itertools.islice(sides, len(dimensions))]
            yield lambda shape=shape: torch.empty(shape, device="meta")  # type: ignore[misc]
        features = getattr(layer, "in_features", None)
        if isinstance(features, int):
            yield lambda features=features: torch.empty(BATCH, TOKENS, features, device="meta")  # type: ignore[misc]


def _image_size(root: nn.Module) -> list[int]:
    """Height and width, as some part of the module or its configuration tells them; empty where none does."""
    for part in root.modules():
        for owner, name in itertools.product((part, getattr(part, "config", None)), _SIZES):
            size = getattr(owner, name, None)
            if isinstance(size, int):
                return [size, size]
            if isinstance(size, tuple | list) and len(size) >= 2 and all(isinstance(side, int) for side in size):
                return list(size[-2:])
    return []
