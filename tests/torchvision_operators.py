"""Torchvision's operators, declared where they can't be loaded.

Wheels of torchvision bring operators that are compiled for one build of torch. Where they don't load, the operators are
declared here without being implemented: that is all that building and tracing the models needs.
"""

from __future__ import annotations

from pathlib import Path

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

_libraries: dict[str, torch.library.Library] = {}
"""What is declared is there for as long as its library is."""


def declare_unless_loaded(location: str) -> None:
    """Have the operators of the torchvision whose ``__init__.py`` is at ``location``, its own if they load."""
    if not _load(location):
        library = _libraries["torchvision"] = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
        for schema in (*_FORWARD, *_BACKWARD):
            library.define(schema)  # type: ignore[no-untyped-call]


def _load(location: str) -> bool:
    libraries = Path(location).parent.glob("_C*.*")
    try:
        for library in libraries:
            torch.ops.load_library(str(library))  # type: ignore[no-untyped-call]
    except OSError:
        return False
    return True
