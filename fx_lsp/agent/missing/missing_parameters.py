"""Stand-ins for the weights of missing modules, which a program may initialize: nobody reads the values."""

from __future__ import annotations

import itertools
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import torch

from fxcore.tracing.trace_session import current
from fxcore.wrap import find_proxy

NAMES = frozenset({"weight", "bias"})
"""The names of most parameters."""

MOST_BETWEEN = 20
"""How many frames at most there are between a function of `torch.nn.init` and what modes call for it."""

_Used = Callable[[], object]


class MissingParameter(torch.Tensor):
    """The weight or the bias of a missing module. Whatever is done with it but initializing it is a use."""

    _used: _Used

    @classmethod
    def of(cls, used: _Used) -> MissingParameter:
        """A parameter for which ``used`` is called whenever the program uses it."""
        made = torch.ones((1, 1)).as_subclass(cls)  # initializers look for two dimensions
        made._used = used
        return made

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Ignore what initializes this tensor in place: its shape is not known. What ``.data`` returns is this, too."""
        if find_proxy((args, kwargs)) is not None:
            return NotImplemented
        given = [*args, *(kwargs or {}).values()]
        if isinstance(given[0], cls) and (func == _DATA or _initializes(func)):
            return given[0]
        if not _is_initializing(sys._getframe(1)):
            items = (item for value in given for item in (value if isinstance(value, list | tuple) else [value]))
            for item in items:
                if isinstance(item, cls):
                    item._used()
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @property
    def _is_param(self) -> bool:  # type: ignore[override]
        """What ``isinstance(…, torch.nn.Parameter)`` asks a tensor. The answer is not known, so asking is a use.

        Traces ask this, too, to find the module that owns a parameter.
        """
        if current() is None:
            self._used()
        return False

    def __fx_create_arg__(self, tracer: object) -> None:
        """Become None in a node's arguments, since the true value is not known."""
        self._used()


_DATA = torch.Tensor.data.__get__  # type: ignore[attr-defined]


def _initializes(func: Any) -> bool:
    """Whether ``func`` is a function of `torch.nn.init`, or a method that changes a tensor in place."""
    name = getattr(func, "__name__", "")
    return getattr(func, "__module__", None) == torch.nn.init.__name__ or (
        name.endswith("_") and not name.endswith("__")
    )


def _is_initializing(frame: FrameType) -> bool:
    """Whether an initializer of `torch.nn.init` made the call that ``frame`` is of; modes may have intercepted it.

    Other functions there, such as those that count inputs, return what they find out to the program.
    """
    callers = (frame for frame, _ in traceback.walk_stack(frame))
    return any(
        caller.f_globals.get("__name__") == torch.nn.init.__name__ and caller.f_code.co_name.endswith("_")
        for caller in itertools.islice(callers, MOST_BETWEEN)
    )
