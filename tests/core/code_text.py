"""Generated code as text that is compared."""

from __future__ import annotations

import re
from typing import Any

from tests.core.versions import TORCH

_LETTING_GO = re.compile(r";  [\w =]+ = None$", re.MULTILINE)


def statements(code: str) -> str:
    """Generated code; before torch 2.8, torch.fx's let go of fewer values, and what does that doesn't count."""
    return code if TORCH >= (2, 8) else _LETTING_GO.sub("", code)


def code_of(module: Any) -> str:
    """The code of a graph module of either kind."""
    return statements(module.code)


def codes_of(module: Any) -> dict[str, str]:
    """The code of a graph module, by "", and of those of its children that are graph modules, by their names."""
    children = {name: child for name, child in module.named_children() if hasattr(child, "code")}
    return {name: code_of(each) for name, each in {"": module, **children}.items()}
