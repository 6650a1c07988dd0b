"""Passes over graphs: what they compute, how they are split, fused, matched and drawn.

``fxcore.passes.shape_prop`` and the others are imported when they are first used.
"""

from __future__ import annotations

import importlib
from types import ModuleType

__all__ = [
    "annotate_getitem_nodes",
    "fake_tensor_prop",
    "graph_drawer",
    "graph_manipulation",
    "net_min_base",
    "operator_support",
    "param_fetch",
    "pass_manager",
    "reinplace",
    "runtime_assert",
    "shape_prop",
    "split_module",
    "split_utils",
    "splitter_base",
    "tools_common",
]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
