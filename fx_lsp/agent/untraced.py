"""While a file is imported, its own calls of torch.fx that fail must not end the import.

Those who need this server most have a ``symbolic_trace(Net())`` at module level that raises. The call yields a
placeholder instead, which raises only when something is done with it; why the call failed is told by the trace of
the target that stands for it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, NoReturn
from unittest import mock

import torch.fx

from .places import causes


class UntracedUse(Exception):
    """Something was done with the result of a call of torch.fx that had failed."""


class Untraced:
    """What a failed call of torch.fx yields."""

    def __init__(self, error: Exception) -> None:
        self.__dict__["error"] = error

    def _use(self, *args: object, **kwargs: object) -> NoReturn:
        raise UntracedUse("this could not be traced") from self.__dict__["error"]

    __getattr__ = __setattr__ = __delattr__ = _use
    __call__ = __iter__ = __len__ = __getitem__ = __setitem__ = __delitem__ = __contains__ = __enter__ = _use


@contextlib.contextmanager
def failures_tolerated() -> Iterator[None]:
    """Within the block, ``torch.fx.symbolic_trace`` and ``Tracer.trace`` yield an `Untraced` where they
    would raise."""
    with (
        mock.patch.object(torch.fx, "symbolic_trace", _tolerant(torch.fx.symbolic_trace)),
        mock.patch.object(torch.fx.Tracer, "trace", _tolerant(torch.fx.Tracer.trace)),
    ):
        yield


def is_consequence(error: BaseException | None) -> bool:
    """Whether ``error`` was raised because an `Untraced` was used."""
    return any(isinstance(cause, UntracedUse) for cause in causes(error))


def _tolerant(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def tolerant(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            return Untraced(error)

    return tolerant
