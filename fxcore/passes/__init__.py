"""Passes over graphs: they compute shapes, and split, fuse, match, reorder and draw graphs.

They may import fxcore's top modules and nodes, and most are imported when they are first used. Start reading at
`shape_prop`, the simplest, then at `tools_common`, which the splitters share.
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
