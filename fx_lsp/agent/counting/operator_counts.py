"""Counts floating-point operations by module, as torch's `FlopCounterMode` does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.utils import flop_counter

from fx_lsp.agent.messages import Uncounted
from fx_lsp.agent.running.compiler_delay import spare_compiler
from fx_lsp.agent.running.plain_values import tensors_of
from fxcore.torch_compat import DispatchMode


class OperatorCounts:
    """What the operators that run within `counting` compute."""

    def __init__(self) -> None:
        spare_compiler()  # the import of torch's counter defined functions that would load it
        self._counter = flop_counter.FlopCounterMode(display=False)
        self._calls = Counter[str]()
        self._elements = Counter[str]()

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Within the block, count."""
        with ExitStack() as stack:
            # The counter is entered last, so it is the first to see an operator. What it doesn't split into others
            # reaches the mode below.
            stack.enter_context(_Executed(self))
            stack.enter_context(self._counter)
            yield

    @property
    def flops(self) -> int:
        """The operations so far; a multiplication and the addition of its result are two."""
        return int(self._counter.get_total_flops())  # a user's own formula may yield a float

    @property
    def uncounted(self) -> tuple[Uncounted, ...]:
        """The operators so far that torch has no formula for, those with the largest results first."""
        largest = sorted(self._elements.items(), key=lambda item: (-item[1], item[0]))
        return tuple(Uncounted(name, self._calls[name], elements) for name, elements in largest)

    def note(self, operator: Any, results: Collection[torch.Tensor]) -> None:
        """Note an operator without a formula."""
        name = str(operator.overloadpacket)
        self._calls[name] += 1
        self._elements[name] += sum(result.numel() for result in results)


class _Executed(DispatchMode):
    """Notes the operators without a formula that compute something: not those that make a view or a new tensor."""

    def __init__(self, counts: OperatorCounts) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._counts = counts

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator ``func``, and note it."""
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket not in flop_counter.flop_registry:
            given = tensors_of([*args, *(kwargs or {}).values()])
            results = tensors_of([result])
            if given and results and (func._schema.is_mutable or not _is_view(results, given)):
                self._counts.note(func, results)
        return result


def _is_view(results: Iterable[torch.Tensor], given: Iterable[torch.Tensor]) -> bool:
    """Whether all ``results`` share the memory of ``given`` tensors."""
    memory = [tensor.untyped_storage() for tensor in given]
    return all(any(result.untyped_storage() is one for one in memory) for result in results)
