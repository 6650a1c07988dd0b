"""Inputs of a part of a model, recorded while the whole model runs.

What a block is called with often follows from nothing in its own code: the model around it makes masks, positions and
lists of features.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from fx_lsp.agent.running.observation import Input, call
from fx_lsp.agent.running.plain_values import map_tensors

MOST_RECORDED = 8
"""How many inputs of a part are recorded."""


def recorded_inputs(part: torch.nn.Module, host: torch.nn.Module, given: Iterable[Input]) -> Iterator[Input]:
    """What ``part`` of ``host`` is called with while ``host`` runs on each of the inputs ``given``.

    A run that fails may have called the part before. Of inputs of the same shapes, only the first is yielded.
    """
    seen: dict[str, None] = {}
    for whole in given:
        for recorded in _recorded(part, host, whole):
            if (shapes := str(recorded)) not in seen:
                seen[shapes] = None
                yield recorded
            if len(seen) >= MOST_RECORDED:
                return


def _recorded(part: torch.nn.Module, host: torch.nn.Module, given: Input) -> list[Input]:
    """What one run calls the part with."""
    found: list[Input] = []

    def record(_: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        found.append(Input(map_tensors(_copy, args), map_tensors(_copy, kwargs)))

    hook = part.register_forward_pre_hook(record, with_kwargs=True)
    try:
        call(host, given)
    except Exception:  # what it was called with until then counts
        return found
    finally:
        hook.remove()
    return found


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone()
