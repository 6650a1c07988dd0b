"""Placeholders for what a traced program calls from a missing package. Each call is recorded as one node."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from fx_lsp.agent.missing.missing_parameters import NAMES, MissingParameter
from fx_lsp.agent.missing.missing_uses import note_wrapping
from fxcore.explore import call_refusing
from fxcore.failures import FailureKind, as_failure
from fxcore.wrap import find_proxy


class MissingCall(RuntimeError):
    """Raised where a program that really runs calls something that is missing, since the result is unknown."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is missing")


class MissingFunction:
    """The target of a node that stands for a call to a missing function with traced values."""

    def __init__(self, name: str) -> None:
        """``name`` is the function's qualified name, e.g. ``einops.rearrange``."""
        self.__module__, _, self.__name__ = name.rpartition(".")
        self.__qualname__ = self.__name__
        self._missing = name

    def __repr__(self) -> str:
        return self._missing

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises `MissingCall`: the graph of a program that lacks a function can't be run."""
        raise MissingCall(self._missing)


class RefusingFunction(MissingFunction):
    """A `MissingFunction` that is known to accept no traced values."""

    def __init__(self, name: str, error: Exception) -> None:
        """``name`` is as for `MissingFunction`; ``error`` is what the function raises."""
        super().__init__(name)
        self._error = error

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises the error, as what ends a trace at the call."""
        failure = as_failure(self._error, FailureKind.FOREIGN_CALL)
        failure.callee = self._missing
        raise failure


MissingFunction.__name__ = MissingFunction.__qualname__ = "function_of_missing_package"  # in the messages of errors


class MissingModule(torch.nn.Module):
    """An instance of a missing module class; its call is recorded as one node."""

    def __init__(self, name: str, used: Callable[[str], Any]) -> None:
        """``name`` is the class's name. ``used`` maps what the program uses, e.g. ``.shape``, to a stand-in."""
        super().__init__()
        self._missing = name
        self._used = used

    def __repr__(self) -> str:
        return self._missing

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("__") and name.endswith("__"):
                raise
        if name in NAMES:
            return MissingParameter.of(partial(self._used, f".{name}"))
        return self._used(f".{name}")

    def __enter__(self) -> MissingModule:
        """Return the instance: classes of context managers have names like those of modules."""
        note_wrapping(f"{self._missing}()")
        return self

    def __exit__(self, *args: object) -> None:
        """Let exceptions pass."""

    def register_module(self, *args: Any, **kwargs: Any) -> Any:
        """Add a submodule; with other arguments, what a registry's method returns: ``@BACKBONES.register_module()``."""
        match args:
            case [str(), torch.nn.Module() | None] if not kwargs:
                return super().register_module(*args)
        return self._used(".register_module")(*args, **kwargs)

    def replace_with(self, compute: Callable[..., Any]) -> None:
        """From now on, return what ``compute(args, kwargs, training=…)`` returns for a call, unless that is None."""
        self.__dict__["_compute"] = compute

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Raises `MissingCall`, unless something else was put in its place. In a trace, the module is a leaf."""
        compute = self.__dict__.get("_compute")
        result = None if compute is None else compute(args, kwargs, training=self.training)
        if result is None:
            self._used("()")
            raise MissingCall(self._missing)
        return result


class RefusingModule(MissingModule):
    """A `MissingModule` that is known to accept no traced values: the tracer would look into it, and fail there."""

    def __init__(self, name: str, used: Callable[[str], Any], error: Exception) -> None:
        """``name`` and ``used`` are as for `MissingModule`; ``error`` is what a call of the module raises."""
        super().__init__(name, used)
        self._error = error
        self.refuses = True
        """Whether it does so: it doesn't if it may be a leaf of a tracer of the program's own."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse traced values. No tracer is asked whether this is a leaf, since it replaces ``Module.__call__``."""
        if not self.refuses or find_proxy((args, kwargs)) is None:
            return super().__call__(*args, **kwargs)
        return call_refusing(RefusingFunction(self._missing, self._error), args, kwargs)


for _placeholder in (MissingModule, RefusingModule):
    _placeholder.__name__ = _placeholder.__qualname__ = "module_of_missing_package"
