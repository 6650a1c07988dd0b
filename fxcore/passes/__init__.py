"""Passes over graphs: what they compute, how they are split, fused, matched and drawn.

``fxcore.passes.shape_prop`` and the others are imported when they are first used.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

_MODULES = frozenset(module.name for module in pkgutil.iter_modules(__path__))


def __getattr__(name: str) -> ModuleType:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
