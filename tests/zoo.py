"""Real models to trace: torchvision's, with random weights.

Wheels of torchvision bring operators that are compiled for one build of torch. Where they don't load, the operators are
declared here without being implemented: that is all that building and tracing the models needs. Where there is no
torchvision, a test that asks for it is skipped.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

_BOXES = "Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_DEFORMATION = (
    "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, "
    "SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, "
    "bool use_mask"
)
_FORWARD = (
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    f"roi_align({_BOXES}, int sampling_ratio, bool aligned) -> Tensor",
    f"roi_pool({_BOXES}) -> (Tensor, Tensor)",
    f"ps_roi_align({_BOXES}, int sampling_ratio) -> (Tensor, Tensor)",
    f"ps_roi_pool({_BOXES}) -> (Tensor, Tensor)",
    f"deform_conv2d({_DEFORMATION}) -> Tensor",
)
_CHANNELS = _BOXES.replace("Tensor input, Tensor rois", "Tensor grad, Tensor rois, Tensor channel_mapping")
_SIZES = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_GRADIENT = _BOXES.replace("Tensor input", "Tensor grad")
_BACKWARD = (  # torchvision registers shape functions for these when it is imported
    f"_roi_align_backward({_GRADIENT}, {_SIZES}, int sampling_ratio, bool aligned) -> Tensor",
    f"_roi_pool_backward({_GRADIENT.replace('rois,', 'rois, Tensor argmax,')}, {_SIZES}) -> Tensor",
    f"_ps_roi_align_backward({_CHANNELS}, int sampling_ratio, {_SIZES}) -> Tensor",
    f"_ps_roi_pool_backward({_CHANNELS}, {_SIZES}) -> Tensor",
    f"_deform_conv2d_backward(Tensor grad, {_DEFORMATION}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
)


def _operators_load(location: str) -> bool:
    libraries = Path(location).parent.glob("_C*.*")
    try:
        for library in libraries:
            torch.ops.load_library(str(library))  # type: ignore[no-untyped-call]
    except OSError:
        return False
    return True


class _Missing:
    """Stands in for a package that isn't installed."""

    def __getattr__(self, name: str) -> Any:
        pytest.skip("torchvision isn't installed", allow_module_level=True)


def _imported() -> Any:
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        return _Missing()
    if not _operators_load(spec.origin):
        library = _libraries["torchvision"] = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
        for schema in (*_FORWARD, *_BACKWARD):
            library.define(schema)  # type: ignore[no-untyped-call]
    return importlib.import_module("torchvision")


_libraries: dict[str, torch.library.Library] = {}
"""What is declared is there for as long as its library is."""

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
