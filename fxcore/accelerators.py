"""Run code written for accelerators on a machine without one: code that asks for an accelerator gets the CPU."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

# Names of devices that are replaced by the CPU. Where a device is expected, a number also stands for an accelerator.
_DEVICE = re.compile(r"(cuda|hip|mps|xpu)(:\d+)?")

# The legacy names of tensor types on CUDA devices.
_TYPE = re.compile(r"torch\.cuda\.(\w+Tensor)")

# Matches somewhere in the text of every program that may use an accelerator.
_SAID = re.compile(r"cuda|hip|mps|xpu|\bto\(\s*(\d|\w*rank)")

# The classes of most arguments of a module's constructor; their instances never name a device. A constructor makes
# thousands of calls, and looking at each argument closely would take as long as the calls themselves.
_PLAIN = frozenset({torch.Tensor, torch.nn.Parameter, torch.Size, torch.dtype, float, bool, type(None)})


class OnCpu(TorchFunctionMode):
    """A mode in which torch functions use the CPU instead of an accelerator, except in calls that a trace records."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        keywords = kwargs or {}
        if types and not all(issubclass(kind, torch.Tensor) for kind in types):
            return function(*args, **keywords)
        if function in (torch.Tensor.cuda, torch.Tensor.pin_memory):
            return args[0]
        if function is torch.device and is_accelerator([*args, *keywords.values()][0], number=True):
            return torch.device("cpu")
        return self.call(function, args, keywords)

    def call(self, function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """Call a torch function, none of whose arguments is a proxy, with the CPU in place of any accelerator."""
        number = function is torch.Tensor.to
        args = [value if type(value) in _PLAIN else _on_cpu(value, number=number) for value in args]
        if not keywords:
            return function(*args)
        moved = {name: _on_cpu(value, number=name == "device") for name, value in keywords.items()}
        if "pin_memory" in moved:
            moved["pin_memory"] = False
        return function(*args, **moved)


def is_accelerator(value: object, *, number: bool = False) -> bool:
    """Whether ``value`` names an accelerator.

    An int does so only if ``number`` is true, that is, where a device is expected.
    """
    if isinstance(value, int):
        return number and not isinstance(value, bool)
    return isinstance(value, str | torch.device) and _DEVICE.fullmatch(str(value)) is not None


def asks_for_accelerator(function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]) -> bool:
    """Whether `OnCpu` would redirect a call of a torch function."""
    number = function in (torch.Tensor.to, torch.device)
    return (
        function in (torch.Tensor.cuda, torch.Tensor.pin_memory)
        or keywords.get("pin_memory") is True
        or any(_is_redirected(value, number=number) for value in args)
        or any(_is_redirected(value, number=name == "device") for name, value in keywords.items())
    )


def _is_redirected(value: object, *, number: bool) -> bool:
    return is_accelerator(value, number=number) or (isinstance(value, str) and _TYPE.search(value) is not None)


def may_use_accelerator(text: str) -> bool:
    """Whether the program ``text`` names an accelerator, or moves something to a device given by its number."""
    return _SAID.search(text) is not None


def _on_cpu(value: Any, *, number: bool) -> Any:
    if is_accelerator(value, number=number):
        return "cpu"
    return _TYPE.sub(r"torch.\1", value) if isinstance(value, str) else value
