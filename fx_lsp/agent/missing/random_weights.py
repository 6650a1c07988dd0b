"""Fills large weights with random numbers in a fraction of the time: with fewer numbers, which are repeated.

Drawing the numbers is most of the work of building a large model, and nobody uses the model but to try things out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

PERIOD = 524_287
"""After how many elements random numbers repeat themselves: a prime (2 ** 19 - 1), so that no two rows or columns of a
weight get the same unless it has more of them than this, which hardly any vocabulary has."""

LARGE = 2 * PERIOD
"""How many elements a weight has that is filled with repeated numbers."""

_METHODS = frozenset({torch.Tensor.uniform_, torch.Tensor.normal_, torch.Tensor.erfinv_})
"""Methods that `_Repeating` has forms of its own of."""

_FILLS = _METHODS | {torch.nn.init.uniform_, torch.nn.init.normal_, torch.nn.init.kaiming_uniform_}
"""The functions that fill a weight with random numbers and that a mode receives. Other such functions call these."""


class _Repeating(torch.Tensor):
    """A weight that is filled with repeated numbers. ``torch.nn.init`` calls its methods."""

    __torch_function__: Any = torch._C._disabled_torch_function_impl

    def uniform_(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Fill the weight with numbers from a uniform distribution."""
        return self._filled(torch.Tensor.uniform_, args, kwargs)

    def normal_(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Fill the weight with numbers from a normal distribution."""
        return self._filled(torch.Tensor.normal_, args, kwargs)

    def erfinv_(self) -> torch.Tensor:
        """Replace random numbers that are repeated: a truncated normal distribution is made of a uniform one."""
        flat = self.as_subclass(torch.Tensor).view(-1)
        if not torch.equal(flat[PERIOD:], flat[:-PERIOD]):
            return torch.Tensor.erfinv_(self)
        _repeat(torch.Tensor.copy_, flat[:PERIOD].erfinv(), flat)
        return self

    def _filled(self, fill: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> torch.Tensor:
        numbers = fill(torch.empty(PERIOD, dtype=self.dtype, device="cpu"), *args, **kwargs)
        _repeat(torch.Tensor.copy_, numbers, self.as_subclass(torch.Tensor).view(-1))
        return self


def fills_large_weight(function: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    """Whether a call fills a large weight on the CPU with random numbers."""
    if function not in _FILLS:
        return False
    tensor = args[0] if args else keywords.get("tensor")
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return False
    assert isinstance(tensor, torch.Tensor)
    # A method raises an error if autograd would have to note the call; the functions of torch.nn.init switch it off.
    is_noted = function in _METHODS and tensor.requires_grad and torch.is_grad_enabled()
    is_large = tensor.layout is torch.strided and tensor.numel() >= LARGE and tensor.is_contiguous()
    return is_large and not is_noted and tensor.is_floating_point() and tensor.device.type == "cpu"


def fill(function: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """What such a call does, but with numbers that are repeated. Returns the weight; raises what the call raises."""
    tensor = args[0] if args else keywords["tensor"]
    repeating = tensor.detach().as_subclass(_Repeating)
    if function in _METHODS:
        getattr(repeating, function.__name__)(*args[1:], **keywords)
    elif args:
        function(repeating, *args[1:], **keywords)
    else:
        function(**{**keywords, "tensor": repeating})
    return tensor


def add_noise(weight: torch.Tensor, scale: float, generator: torch.Generator) -> None:
    """Add random numbers from a normal distribution to ``weight``; those of a large one are repeated."""
    numbers = scale * torch.randn(min(weight.numel(), PERIOD), generator=generator)
    flat = weight.contiguous().view(-1)
    _repeat(torch.Tensor.add_, numbers.to(weight.dtype), flat)
    if flat.data_ptr() != weight.data_ptr():
        weight.copy_(flat.view(weight.shape))


def _repeat(change: Callable[[torch.Tensor, torch.Tensor], object], numbers: torch.Tensor, flat: torch.Tensor) -> None:
    """Change the elements of ``flat`` in place with ``numbers``, one after another, again and again."""
    if len(numbers) == 0:
        return
    whole = len(flat) // len(numbers) * len(numbers)
    change(flat[:whole].view(-1, len(numbers)), numbers)
    change(flat[whole:], numbers[: len(flat) - whole])
