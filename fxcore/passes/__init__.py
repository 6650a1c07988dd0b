"""Passes over graphs: they compute shapes, and split, fuse, match, reorder and draw graphs.

This package may import fxcore's top-level modules, `fxcore.nodes` and `fxcore.code`; most of its modules are imported
on first use. Start reading at `shape_prop`, the simplest pass, then at `tools_common`, which the splitters share.
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
