"""An instance of a missing module class: it can be a submodule, but what it does is not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


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
