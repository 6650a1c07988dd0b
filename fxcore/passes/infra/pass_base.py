"""The base class of passes, and the result that passes return."""

from __future__ import annotations

import abc
from typing import NamedTuple

import torch

from fxcore.graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The result of a pass.

    Attributes:
        graph_module: The resulting module: the one that was passed in, or another.
        modified: Whether the pass changed anything.
    """

    graph_module: torch.nn.Module
    modified: bool


class PassBase(abc.ABC):
    """A pass with checks before and after it; its instances are callable and can be passed to a ``PassManager``."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        """Check ``requires``, run ``call``, check ``ensures``, and return the result of ``call``."""
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Do the work of the pass on a module."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raise if the pass can't be run on this module."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raise if the given module isn't as promised after the pass; a new module from the pass isn't checked."""
