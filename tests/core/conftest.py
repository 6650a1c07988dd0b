"""Makes torchvision's models importable where its compiled operators don't fit the installed torch."""

import importlib.util

import torch


def declare_torchvision_operators() -> None:
    """Declare the operators that torchvision registers shape rules for on import, unless its library provides them.

    The released torchvision wheel is linked to a torch with CUDA; with another build of torch the library isn't loaded.
    Models that don't call the operators work all the same.
    """
    if importlib.util.find_spec("torchvision") is None:
        return
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        for name in ("nms", "qnms"):
            torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


declare_torchvision_operators()
