"""Limits a search for inputs by what its runs do, which, unlike the time that they take, is the same on any machine."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from fx_lsp.agent.running.plain_values import tensors_of

MOST_RUNS = 600
"""How often a program is run in search of inputs."""

MOST_WORK = 30_000_000_000
"""How many operations on numbers these runs may do, a few seconds' worth."""

CALL = 100_000
"""What a call to a function of torch counts as, besides the operations on numbers."""


class SearchBudget(TorchFunctionMode):
    """While it is active, counts the operations of the program that is run."""

    def __init__(self, share: float = 1.0) -> None:
        """``share``: of `MOST_RUNS` and of `MOST_WORK`."""
        super().__init__()
        self._share = share
        self.runs = 0
        """How often the program was run."""
        self._work = 0

    def may_run(self, share: float = 1.0) -> bool:
        """Whether the program may be run once more, with a ``share`` of the budget; to be asked before each run."""
        self.runs += 1
        return self.runs <= share * self._share * MOST_RUNS and self.has_left(share)

    def has_left(self, share: float) -> bool:
        """Whether the runs have done less than a ``share`` of the operations that they may do."""
        return self._work <= share * self._share * MOST_WORK

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        self._work += CALL + _operations(getattr(func, "__name__", ""), args, output)
        return output


def _operations(name: str, args: tuple[Any, ...], output: Any) -> int:
    """About how many multiplications the function ``name`` has done: a row of weights for each number of the output."""
    tensors = [argument for argument in args[:2] if isinstance(argument, torch.Tensor)]
    row = 1
    if len(tensors) == 2 and (name.startswith("conv") or name == "linear"):
        row = math.prod(tensors[1].shape[1:])
    elif len(tensors) == 2 and name.strip("_") in ("matmul", "mm", "bmm"):
        row = tensors[0].shape[-1]
    return row * sum(tensor.numel() for tensor in tensors_of([output]))
