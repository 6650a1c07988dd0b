"""Code for accelerators on a machine that has none: what asks for one gets the CPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

# Names of devices that are read as the CPU's; so is a number, which stands for one of them.
_DEVICE = re.compile(r"(cuda|hip|mps|xpu)(:\d+)?")

# The old names of what is kept there.
_TYPE = re.compile(r"torch\.cuda\.(\w+Tensor)")

# What a program has in its text that asks for one.
_SAID = re.compile(r"cuda|hip|mps|xpu|\bto\(\s*(\d|\w*rank)")


class OnCpu(TorchFunctionMode):
    """Within it no call of torch's is about an accelerator. A call that a tracer records is left as it is."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        keywords = kwargs or {}
        if not all(issubclass(kind, torch.Tensor) for kind in types):
            return function(*args, **keywords)
        if function in (torch.Tensor.cuda, torch.Tensor.pin_memory):
            return args[0]
        if function is torch.device and is_accelerator([*args, *keywords.values()][0], number=True):
            return torch.device("cpu")
        return self.call(function, args, keywords)

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Make a call of torch's in which no Proxy takes part."""
        number = function is torch.Tensor.to
        moved = {name: _on_cpu(value, number=name == "device") for name, value in keywords.items()}
        if "pin_memory" in moved:
            moved["pin_memory"] = False
        return function(*(_on_cpu(value, number=number) for value in args), **moved)


def is_accelerator(value: object, *, number: bool = False) -> bool:
    """Whether ``value`` names an accelerator; whether a ``number`` does depends on where it stands."""
    if isinstance(value, int):
        return number and not isinstance(value, bool)
    return isinstance(value, str | torch.device) and _DEVICE.fullmatch(str(value)) is not None


def may_use_accelerator(text: str) -> bool:
    """Whether the program ``text`` has the name of one, or moves something to a number."""
    return _SAID.search(text) is not None


def _on_cpu(value: Any, *, number: bool) -> Any:
    if is_accelerator(value, number=number):
        return "cpu"
    return _TYPE.sub(r"torch.\1", value) if isinstance(value, str) else value
