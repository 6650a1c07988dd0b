"""The base classes of mmcv's and mmengine's modules: torch's own, which also keep how their weights are initialized."""

from __future__ import annotations

import copy
from abc import ABCMeta
from collections.abc import Iterable, Mapping
from typing import Any

import torch


class BaseModule(torch.nn.Module, metaclass=ABCMeta):
    """A module that keeps ``init_cfg``, and may have abstract methods.

    Which values its weights get changes nothing about a trace.
    """

    def __init__(self, init_cfg: Any = None) -> None:
        super().__init__()
        self._is_init = False
        self.init_cfg = copy.deepcopy(init_cfg)

    @property
    def is_init(self) -> bool:
        """Whether the weights were initialized."""
        return self._is_init

    def init_weights(self) -> None:
        """Initialize the weights: here, they keep the values that they have."""
        self._is_init = True


class Sequential(BaseModule, torch.nn.Sequential):
    """Modules that are called one after the other."""

    def __init__(self, *args: Any, init_cfg: Any = None) -> None:
        BaseModule.__init__(self, init_cfg)
        torch.nn.Sequential.__init__(self, *args)


class ModuleList(BaseModule, torch.nn.ModuleList):
    """A list of modules."""

    def __init__(self, modules: Iterable[torch.nn.Module] | None = None, init_cfg: Any = None) -> None:
        BaseModule.__init__(self, init_cfg)
        torch.nn.ModuleList.__init__(self, modules)


class ModuleDict(BaseModule, torch.nn.ModuleDict):
    """Modules by name."""

    def __init__(self, modules: Mapping[str, torch.nn.Module] | None = None, init_cfg: Any = None) -> None:
        BaseModule.__init__(self, init_cfg)
        torch.nn.ModuleDict.__init__(self, modules)
