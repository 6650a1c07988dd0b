"""Guesses inputs that a module would probably accept, from its layers.

The inputs are on the meta device, so they cost nothing. They help to guess which path a program takes, but they prove
nothing: any conclusion drawn from them is itself a guess.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

BATCH = 2
SIDE = 224
"""The height and width of images, in pixels, if the module does not specify their size."""
TOKENS = 16
"""The length of sequences."""
KEYPOINTS = 17
"""How many points of a person are labelled in COCO, whose form most targets for detection have."""
# Annotations of inputs that are not tensors, also as strings.
_FLAGS = (bool, int, float, str, "bool", "int", "float", "str")
_VECTORS = ("time", "timestep", "timesteps", "t", "label", "labels")
_SIZES = ("image_size", "img_size", "input_size", "in_size")


def guess_inputs(root: nn.Module | Callable[..., Any], concrete_args: Any = None) -> dict[str, Any]:
    """Return the likeliest of `guesses`; an empty dict if there are none."""
    return next(guesses(root, concrete_args), {})


def guesses(
    root: nn.Module | Callable[..., Any], concrete_args: Any = None, *, sides: Iterable[int] = (SIDE,)
) -> Iterator[dict[str, Any]]:
    """Values for the required parameters of a module's forward, by name, the likeliest first; they may repeat.

    The layers show the kind of input: a convolution takes images with its number of channels, an embedding takes
    token indices, a linear layer or a normalization takes sequences of vectors. The size of images is taken from an
    attribute such as ``image_size``; if there is none, each of ``sides`` (in pixels) is tried.
    """
    if not isinstance(root, nn.Module):
        return
    given = concrete_args if isinstance(concrete_args, Mapping) else {}
    parameters = inspect.signature(root.forward).parameters
    required = [
        name
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and parameter.annotation not in _FLAGS
        and name not in given
    ]
    for made in _made_by_layers(root, list(sides)):
        guessed: dict[str, Any] = {
            name: torch.empty(BATCH, device="meta") if name in _VECTORS else made.clone() for name in required
        }
        if "images" in required and "targets" in parameters:
            guessed["targets"] = [_detected() for _ in range(BATCH)]
        yield guessed


def _detected() -> dict[str, torch.Tensor]:
    """A target for one image, in the form with which torchvision's detection models are trained.

    It has all keys that these models know. A model that needs only some of them passes on the others.
    """
    return {
        "boxes": torch.empty(BATCH, 4, device="meta"),
        "labels": torch.ones(BATCH, dtype=torch.long, device="meta"),
        "masks": torch.ones(BATCH, SIDE, SIDE, dtype=torch.uint8, device="meta"),
        "keypoints": torch.empty(BATCH, KEYPOINTS, 3, device="meta"),
    }


def _made_by_layers(root: nn.Module, sides: Sequence[int]) -> Iterator[torch.Tensor]:
    """Yield tensors that ``root`` may accept, for each layer whose attributes show what that layer accepts."""
    image_sizes: list[list[int]] = []
    for layer in root.modules():
        if isinstance(layer, nn.Embedding):
            yield torch.ones(BATCH, TOKENS, dtype=torch.long, device="meta")
        attributes = vars(layer)
        channels, dimensions = attributes.get("in_channels"), attributes.get("kernel_size")
        if isinstance(channels, int) and isinstance(dimensions, tuple):
            image_sizes = image_sizes or _image_sizes(root, sides)
            for size in image_sizes:
                fitting = itertools.islice(itertools.chain(size, itertools.repeat(size[-1])), len(dimensions))
                yield torch.empty(BATCH, channels, *fitting, device="meta")
        if isinstance(features := attributes.get("in_features"), int):
            yield from _vectors(features)
    for layer in root.modules():
        if isinstance(layer, nn.RNNBase):
            yield from _vectors(layer.input_size)
        elif isinstance(layer, nn.LayerNorm):
            yield from _vectors(*layer.normalized_shape)
        elif isinstance(width := getattr(layer, "num_features", None), int):
            yield from _vectors(width)


def _vectors(*width: int) -> Iterator[torch.Tensor]:
    for shape in ((TOKENS, *width), width, (*width, 8, 8), (4, 4, *width)):
        yield torch.empty(BATCH, *shape, device="meta")


def _image_sizes(root: nn.Module, sides: Sequence[int]) -> list[list[int]]:
    return [size] if (size := _image_size(root)) else [[side, side] for side in sides]


def _image_size(root: nn.Module) -> list[int]:
    """Height and width, as specified by a part of the module or its configuration; empty if nothing specifies them.

    transformers stores the configuration of a model in ``config``, timm that of its weights in ``pretrained_cfg``.
    """
    for described in _descriptions(root):
        for name in _SIZES:
            size = described.get(name)
            if isinstance(size, int):
                return [size, size]
            if isinstance(size, tuple | list) and len(size) >= 2 and all(isinstance(side, int) for side in size):
                return list(size[-2:])
    return []


def _descriptions(root: nn.Module) -> Iterator[Mapping[str, Any]]:
    """Mappings that may contain the size of images.

    These are the objects' own dicts, because modules take long to look up an attribute that they don't have.
    """
    for part in root.modules():
        own = vars(part)
        yield own
        if "config" in own:
            yield _fields(own["config"])
    yield _fields(vars(root).get("pretrained_cfg"))


def _fields(owner: object) -> Mapping[str, Any]:
    return owner if isinstance(owner, Mapping) else getattr(owner, "__dict__", {})
