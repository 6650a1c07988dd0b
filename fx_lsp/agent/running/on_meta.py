"""Runs a program without computing anything: with its weights and its inputs on the meta device.

This shows which shapes the program accepts, in the same time for a large model as for a small one of as many layers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from fx_lsp.agent.running.observation import modules_of, weights_of

MANY_WEIGHTS = 5_000_000
"""From so many weights on, it takes long to run a model as it is."""


def is_large(root: Callable[..., Any]) -> bool:
    """Whether ``root`` has so many weights that it should not be run often."""
    return sum(weight.numel() for weight in weights_of(root)) >= MANY_WEIGHTS


def to_meta(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor without values that is otherwise the same."""
    return tensor.detach().to("meta").requires_grad_(tensor.requires_grad)


class MetaWeights:
    """The weights and buffers of a program without their values."""

    def __init__(self, root: Callable[..., Any]) -> None:
        modules = modules_of(root)
        self._stores: list[dict[str, Any]] = [
            vars(one)[kind] for one in modules for kind in ("_parameters", "_buffers")
        ]
        self._on_meta = [
            {name: None if weight is None else to_meta(weight) for name, weight in store.items()}
            for store in self._stores
        ]

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Within the block, the program has these weights, and new tensors have no values either."""
        before = [dict(store) for store in self._stores]
        try:
            for store, weights in zip(self._stores, self._on_meta, strict=True):
                store.update(weights)
            with torch.device("meta"):
                yield
        finally:
            for store, weights in zip(self._stores, before, strict=True):
                store.clear()
                store.update(weights)
