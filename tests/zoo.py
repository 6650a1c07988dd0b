"""Real models to trace: torchvision's, with random weights.

Where there is no torchvision, a test that asks for it is skipped.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests import torchvision_operators


class _Missing:
    """Stands in for a package that isn't installed."""

    def __getattr__(self, name: str) -> Any:
        pytest.skip("torchvision isn't installed", allow_module_level=True)


def _imported() -> Any:
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        return _Missing()
    torchvision_operators.declare_unless_loaded(spec.origin)
    return importlib.import_module("torchvision")


torchvision = _imported()

CLASSIFIERS = (
    "resnet50",
    "mobilenet_v3_large",
    "efficientnet_b0",
    "densenet121",
    "vit_b_16",
    "swin_t",
    "convnext_tiny",
    "inception_v3",
)
"""One for each way of building networks."""

UNTRACEABLE = ("fasterrcnn_resnet50_fpn", "raft_small")
"""A loop over a list of images; a branch on a shape."""


def build(name: str, *, training: bool = False) -> torch.nn.Module:
    """A torchvision model, by its registered name, with random weights that are the same each time."""
    torch.manual_seed(0)
    options: dict[str, Any] = {"weights": None, "weights_backbone": None}
    if name in ("inception_v3", "googlenet"):
        options["init_weights"] = False  # the slow truncated normal
    parameters = inspect.signature(torchvision.models.get_model_builder(name)).parameters
    options = {option: value for option, value in options.items() if option in parameters or option == "init_weights"}
    model: torch.nn.Module = torchvision.models.get_model(name, **options)
    return model.train(training)


def example_input(name: str) -> torch.Tensor:
    """A small image that a classifier takes: float32, (1, 3, side, side)."""
    side = 224 if name.startswith("vit") else 128
    return torch.rand(1, 3, side, side, generator=torch.Generator().manual_seed(1))


def model_builders() -> dict[str, Callable[..., torch.nn.Module]]:
    """Every model that torchvision registers, by name."""
    return {name: torchvision.models.get_model_builder(name) for name in torchvision.models.list_models()}
