"""Keeps a file's own failing calls to torch.fx from ending its import.

The files that need fx-lsp most contain, at module level, a call such as ``symbolic_trace(Net())`` that raises an error.
Here, the call returns a `FailedTrace` instead, which raises only when it is used; the trace of the target that
represents the call reports why the call failed.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, NoReturn
from unittest import mock

import torch.fx

from fx_lsp.agent.traceback_steps import causes


class FailedTraceUse(Exception):
    """The program used the result of a failed call to torch.fx."""


class FailedTrace:
    """What a failed call to torch.fx returns."""

    def __init__(self, error: Exception) -> None:
        self.__dict__["error"] = error

    def _use(self, *args: object, **kwargs: object) -> NoReturn:
        raise FailedTraceUse("This value is the result of a torch.fx trace that failed") from self.__dict__["error"]

    __getattr__ = __setattr__ = __delattr__ = _use
    __call__ = __iter__ = __len__ = __getitem__ = __setitem__ = __delitem__ = __contains__ = __enter__ = _use


@contextlib.contextmanager
def failures_tolerated() -> Iterator[None]:
    """Within the block, ``torch.fx.symbolic_trace`` and ``Tracer.trace`` return a `FailedTrace` instead of raising."""
    with (
        mock.patch.object(torch.fx, "symbolic_trace", _tolerant(torch.fx.symbolic_trace)),
        mock.patch.object(torch.fx.Tracer, "trace", _tolerant(torch.fx.Tracer.trace)),
    ):
        yield


def is_consequence(error: BaseException | None) -> bool:
    """Whether ``error`` was raised because a `FailedTrace` was used."""
    return any(isinstance(cause, FailedTraceUse) for cause in causes(error))


def _tolerant(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def tolerant(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            return FailedTrace(error)

    return tolerant
