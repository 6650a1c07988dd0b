"""The models that `captures.py` captures: those of `recall_models.py`, and others, most of which torch.fx can trace."""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Iterator
from typing import Any

from torch import nn

from benchmarks.recall_models import (
    CASES,
    RESNET,
    Case,
    Inputs,
    build_timm,
    image,
    implement_operators,
    make,
    timm_inputs,
)

TORCHVISION = """
    alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3 maxvit_t mnasnet0_5
    mobilenet_v2 mobilenet_v3_small mobilenet_v3_large regnet_x_400mf regnet_y_400mf resnet18 resnet50 resnext50_32x4d
    shufflenet_v2_x0_5 squeezenet1_0 squeezenet1_1 swin_t swin_v2_t vgg11 vgg11_bn vit_b_16 vit_b_32 wide_resnet50_2
    fcn_resnet50 deeplabv3_mobilenet_v3_large deeplabv3_resnet50 lraspp_mobilenet_v3_large
"""
VIDEO = "r3d_18 mc3_18 r2plus1d_18 s3d mvit_v1_b swin3d_t"
TIMM = """
    resnet18 resnet26d legacy_seresnet18 res2net50_14w_8s regnetx_002 regnety_002 mobilenetv2_050 mobilenetv3_small_050
    efficientnet_lite0 ghostnet_050 hardcorenas_a mixer_s32_224 resmlp_12_224 gmlp_ti16_224 deit_tiny_patch16_224
    vit_tiny_patch16_224 convnext_atto edgenext_xx_small poolformer_s12 dla34 cspresnet50 fbnetc_100 lcnet_035 tinynet_e
    repvgg_a0 hrnet_w18_small
"""
SEGMENTATION = "Unet Linknet MAnet DeepLabV3 DeepLabV3Plus"


def build_torchvision(name: str) -> nn.Module:
    """A classification, segmentation or video model of torchvision."""
    from tests import zoo

    return zoo.build(name)


def more_cases() -> Iterator[Case]:
    """The models that are not in `recall_models.py`."""
    for name in TORCHVISION.split():
        side = 299 if name == "inception_v3" else 224
        inputs = functools.partial(image, "x", 2, 3, side, side)
        yield Case("torchvision", name, functools.partial(build_torchvision, name), inputs)
    for name in VIDEO.split():
        size = (16, 224, 224) if name in ("mvit_v1_b", "s3d", "swin3d_t") else (16, 112, 112)
        inputs = functools.partial(image, "x", 1, 3, *size)
        yield Case("torchvision", name, functools.partial(build_torchvision, name), inputs)
    for name in TIMM.split():
        yield Case("timm", name, functools.partial(build_timm, name), functools.partial(timm_inputs, name))
    for name in SEGMENTATION.split():
        inputs = functools.partial(image, "x", 2, 3, 64, 64)
        yield Case("others", name, functools.partial(make, f"segmentation_models_pytorch.{name}", RESNET), inputs)


def all_cases() -> list[Case]:
    """Every model, in turn from each library, so that the first few are a sample of all."""
    groups = [list(cases()) for cases in CASES.values()]
    more = list(more_cases())
    groups += [[case for case in more if case.library == library] for library in ("torchvision", "timm", "others")]
    return [case for cases in itertools.zip_longest(*groups) for case in cases if case is not None]


@functools.cache
def case_of(library: str, name: str) -> Case:
    """One of the models."""
    implement_operators()
    return next(case for case in all_cases() if (case.library, case.name) == (library, name))


def load(library: str, name: str) -> None:
    """Import the file of a model of transformers, which is otherwise imported when the model is first built."""
    if library == "transformers":
        getattr(importlib.import_module(library), name)


def build(library: str, name: str) -> nn.Module:
    """Build the model."""
    return case_of(library, name).build()


def arguments(library: str, name: str) -> tuple[tuple[Any, ...], Inputs]:
    """The model's positional and keyword arguments."""
    inputs = case_of(library, name).inputs()
    if list(inputs) == ["x"]:  # the parameter's name differs from model to model
        return tuple(inputs.values()), {}
    return (), inputs
