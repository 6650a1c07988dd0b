"""mmcv's decorators for methods that may run in half precision: they do nothing unless the module switches that on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fx_lsp.agent.missing.missing_uses import note_decorated

Method = Callable[..., Any]


def auto_fp16(*args: Any, **kwargs: Any) -> Callable[[Method], Method]:
    """A decorator that converts arguments to half precision."""
    return functools.partial(_unless_enabled, name="mmcv.runner.auto_fp16()")


def force_fp32(*args: Any, **kwargs: Any) -> Callable[[Method], Method]:
    """A decorator that converts arguments back."""
    return functools.partial(_unless_enabled, name="mmcv.runner.force_fp32()")


def _unless_enabled(method: Method, name: str) -> Method:
    """The method; what the decorator does counts as unknown once its module has set ``fp16_enabled``."""

    @functools.wraps(method)
    def called(*args: Any, **kwargs: Any) -> Any:
        if args and getattr(args[0], "fp16_enabled", False):
            note_decorated(name)
        return method(*args, **kwargs)

    return called
