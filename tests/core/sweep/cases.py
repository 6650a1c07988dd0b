"""The models of torchvision and timm that the sweep compares; those of transformers are in `transformers_cases`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from tests import zoo

TIMM_STEP = 3
"""Every third of timm's models: about 460, of every family."""
TIMM_TRAINING = 40
"""How many of those are traced in training mode, too."""
RUN_STEPS = {"torchvision": 2, "timm": 8}
"""Of the models in eval mode every so manieth is run, too."""
LARGEST = 70_000_000
"""Parameters of the largest model that is built with numbers, where that can be helped."""


@dataclass(frozen=True)
class Case:
    """One model in one mode."""

    library: str
    mode: str
    name: str
    build: Callable[[], nn.Module]
    concrete_args: dict[str, Any] | None = None
    runs: bool = False
    """Whether outputs are compared, too."""

    @property
    def title(self) -> str:
        """Which model and mode this is."""
        return f"{self.library} {self.mode} {self.name}"


def torchvision_cases() -> Iterator[Case]:
    """Every registered model, in both modes."""
    for index, name in enumerate(zoo.model_builders()):
        runs = index % RUN_STEPS["torchvision"] == 0
        yield Case("torchvision", "eval", name, functools.partial(zoo.build, name), runs=runs)
        yield Case("torchvision", "train", name, functools.partial(zoo.build, name, training=True))


def timm_cases() -> Iterator[Case]:
    """A third of timm's models, some of them in training mode, too."""
    import timm

    names = timm.list_models()[::TIMM_STEP]
    for index, name in enumerate(names):
        runs = index % RUN_STEPS["timm"] == 0
        yield Case("timm", "eval", name, functools.partial(build_timm, name, training=False), runs=runs)
    for name in names[:: len(names) // TIMM_TRAINING]:
        yield Case("timm", "train", name, functools.partial(build_timm, name, training=True))


def build_timm(name: str, *, training: bool) -> nn.Module:
    """A model of timm."""
    import timm

    module: nn.Module = timm.create_model(name, pretrained=False)
    return module.train(training)


def build(case: Case) -> nn.Module:
    """The model, its parameters without memory, unless it is small and its constructor reads numbers from tensors."""
    try:
        with torch.device("meta"):
            return case.build()
    except Exception:
        module = case.build()
    return module if size(module) <= LARGEST else module.to("meta")


def size(module: nn.Module) -> int:
    """How many numbers its parameters hold."""
    return sum(parameter.numel() for parameter in module.parameters())
