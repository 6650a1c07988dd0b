"""Keeps the mode that redirects accelerators out of ``torch.compile``, which would follow the mode's own code, too."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from torch.overrides import TorchFunctionMode

from fx_lsp.agent.capturing.torch_internals import has_function_mode, without_function_modes
from fxcore.accelerators import OnCpu, asks_for_accelerator


class AcceleratorWatch(TorchFunctionMode):
    """While it is active, notes whether a call of a torch function asks for an accelerator."""

    def __init__(self) -> None:
        super().__init__()
        self.has_asked = False

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        keywords = kwargs or {}
        self.has_asked = self.has_asked or asks_for_accelerator(func, args, keywords)
        return func(*args, **keywords)


def is_redirecting() -> bool:
    """Whether this process redirects accelerators."""
    return has_function_mode(OnCpu)


def compiling(*, redirected: bool) -> AbstractContextManager[None]:
    """The context in which to compile a program. ``redirected``: whether its calls ask for an accelerator."""
    return nullcontext() if redirected else without_function_modes(OnCpu)
