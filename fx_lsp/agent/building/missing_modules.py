"""What a traced program calls of a missing package: a module or a function. Each call is recorded as one node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class MissingFunction:
    """The target of a node that stands for the call of a missing function on traced values."""

    def __init__(self, name: str) -> None:
        """``name`` is the function's, with its package: ``einops.rearrange``."""
        self.__module__, _, self.__name__ = name.rpartition(".")
        self.__qualname__ = self.__name__
        self._missing = name

    def __repr__(self) -> str:
        return self._missing

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Nobody runs the graph of a program that lacks a function. Raises RuntimeError."""
        raise RuntimeError(f"{self._missing} is missing")


class MissingModule(torch.nn.Module):
    """A submodule whose call is recorded as one node."""

    def __init__(self, name: str, used: Callable[[str], Any]) -> None:
        """``name`` is the class's. ``used`` is called with what the program uses, e.g. ``.shape``, and returns it."""
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
        return self._used(f".{name}")

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Raises RuntimeError, since the result is unknown. This is not run in a trace, where the module is a leaf."""
        self._used("()")
        raise RuntimeError(f"{self._missing} is missing")
