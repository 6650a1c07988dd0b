"""Limits a search for inputs by what its runs do, which, unlike the time that they take, is the same on any machine."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from fx_lsp.agent.running.plain_values import tensors_of

MOST_RUNS = 600
"""How often a program is run in search of inputs."""

MOST_WORK = 30_000_000_000
"""How many operations on numbers these runs may do, a few seconds' worth."""

MOST_TIMES_OVER = 2
"""A run that may exceed its share of `MOST_WORK` is ended once all runs have done this many times `MOST_WORK`."""

CALL = 400_000
"""What a call to a function of torch counts as, besides the operations on numbers: Python takes its time, too."""

CALL_ON_META = 600_000
"""What a call on the meta device counts as in addition: nothing is computed, but Python code stands in for kernels."""

WRITTEN = 8
"""How many multiplications take as long as writing one number to new memory."""


class TooMuchWork(Exception):
    """Ends a run that does more than it may."""


class SearchBudget(TorchFunctionMode):
    """While it is active, counts the operations of the program that is run."""

    def __init__(self, share: float = 1.0) -> None:
        """``share``: of `MOST_RUNS` and of `MOST_WORK`."""
        super().__init__()
        self._share = share
        self.runs = 0
        """How often the program was run."""
        self.operations = 0
        """How many operations on numbers the runs have done, without what their calls count as."""
        self.calls = 0
        """How many calls of torch's functions they have made."""
        self._most = math.inf
        """The work after which a run is ended."""
        self._most_operations = math.inf
        """The operations after which it is."""

    def may_run(self, share: float = 1.0, *, strictly: bool = False) -> bool:
        """Whether the program may be run once more, with a ``share`` of the budget; to be asked before each run.

        ``strictly``: a run that exceeds the share ends with `TooMuchWork`. Otherwise, see `MOST_TIMES_OVER`.
        """
        if self.runs >= share * self._share * MOST_RUNS or not self.has_left(share):
            return False
        self.runs += 1
        self._most = (share * self._share if strictly else MOST_TIMES_OVER) * MOST_WORK
        return True

    @contextlib.contextmanager
    def limited(self, operations: float) -> Iterator[None]:
        """Within the block, a run ends with `TooMuchWork` that does more than so many ``operations``."""
        self._most_operations = self.operations + operations
        try:
            yield
        finally:
            self._most_operations = math.inf

    @property
    def used(self) -> float:
        """The share of the budget that has been used so far."""
        return max(self.runs / MOST_RUNS, self._work / MOST_WORK) / self._share

    def has_left(self, share: float) -> bool:
        """Whether the runs have done less than a ``share`` of the operations that they may do."""
        return self._work <= share * self._share * MOST_WORK

    @property
    def _work(self) -> int:
        return self.operations + CALL * self.calls

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = getattr(func, "__name__", "").strip("_")
        is_limited = self._most_operations < math.inf
        if is_limited and self.operations + _expected(name, args) > self._most_operations:
            raise TooMuchWork
        output = func(*args, **(kwargs or {}))
        self.calls += 1
        self.operations += _operations(name, args, output)
        if self.operations > self._most_operations:
            raise TooMuchWork
        if self._work > self._most:  # asked now, since the next call may be the search's own, not the run's
            self._most = math.inf
            raise TooMuchWork
        return output


def _expected(name: str, args: tuple[Any, ...]) -> int:
    """About how many multiplications a call is worth that has not been made, by what is known of its output."""
    tensors = tensors_of(args)
    count = sum(tensor.numel() for tensor in tensors)
    if name in _PRODUCTS and len(tensors) > 1 and all(tensor.dim() > 1 for tensor in tensors[-2:]):
        left, right = tensors[-2:]
        count = max(count, left.numel() // max(left.shape[-1], 1) * right.shape[-1])
    return WRITTEN * count


def _operations(name: str, args: tuple[Any, ...], output: Any) -> int:
    """About how many multiplications the function ``name`` has done, or would have done in the time that it took."""
    tensors = [argument for argument in args[:3] if isinstance(argument, torch.Tensor)]
    outputs = tensors_of([output])
    if any(tensor.is_meta for tensor in outputs):
        return CALL_ON_META
    count = sum(tensor.numel() for tensor in outputs)
    written = WRITTEN * sum(tensor.numel() for tensor in outputs if not tensor._is_view())
    return max(written, _multiplications(name, args, tensors, count))


def _multiplications(name: str, args: tuple[Any, ...], tensors: list[torch.Tensor], count: int) -> int:
    """At least one for each of the ``count`` numbers of the output. ``tensors`` are the first of ``args``."""
    if name == "einsum" and args and isinstance(args[0], str):
        return count * _summed(args[0], tensors_of(args[1:]))
    if name in _RECURRENT:
        return max(count, _of_recurrence(args))
    if len(tensors) < 2:
        return count
    if name in _ATTENTION:
        # Each row of queries is multiplied with all keys, and the result with all values; some are projected before.
        query, key = tensors[:2]
        length = key.shape[-2] if name == "scaled_dot_product_attention" else key.shape[0]
        projections = 0 if name == "scaled_dot_product_attention" else 4 * query.shape[-1]
        return max(count, query.numel() * (2 * length + projections))
    if name.startswith("conv_transpose"):  # the other way round: each number of the input with a row of weights
        return max(count, tensors[0].numel() * math.prod(tensors[1].shape[1:]))
    if name.startswith("conv") or name == "linear":  # a row of weights for each number
        return count * math.prod(tensors[1].shape[1:])
    left = tensors[1] if name in _ADDING_PRODUCTS else tensors[0]
    return count * left.shape[-1] if name in _PRODUCTS and left.dim() else count


_ADDING_PRODUCTS = frozenset({"addmm", "addbmm", "baddbmm"})
_PRODUCTS = _ADDING_PRODUCTS | {"matmul", "mm", "bmm"}
_RECURRENT = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu"})
_ATTENTION = frozenset({"scaled_dot_product_attention", "multi_head_attention_forward"})


def _summed(equation: str, operands: list[torch.Tensor]) -> int:
    """How many products `torch.einsum` adds up for each number of its output: ``i`` times ``x`` for ``bix,iox->bo``."""
    terms, _, result = equation.replace(" ", "").partition("->")
    sizes: dict[str, int] = {}
    for term, operand in zip(terms.split(","), operands, strict=False):
        first, _, last = term.partition("...")
        sizes |= dict(zip(first, operand.shape, strict=False))
        sizes |= dict(zip(reversed(last), reversed(operand.shape), strict=False))
    return math.prod(size for index, size in sizes.items() if index not in result)


def _of_recurrence(args: tuple[Any, ...]) -> int:
    """All weights for each step of each sequence: ``(input, state, weights, …)``."""
    weights = sum(tensor.numel() for tensor in tensors_of(args[2:3]))
    return math.prod(args[0].shape[:-1]) * weights if args and isinstance(args[0], torch.Tensor) else 0
