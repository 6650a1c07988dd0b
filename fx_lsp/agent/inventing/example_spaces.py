"""Examples of the spaces of gym and gymnasium, whose constructors take arguments that have to agree."""

from __future__ import annotations

import sys
from typing import Any

_SPACES = ("Box", "Dict", "Discrete", "MultiBinary")
"""The classes that a module of spaces has, also one that stands for a missing package."""

VECTOR = (64,)
"""The shape of observations that are numbers."""

IMAGE = (3, 64, 64)
"""The channels, height and width of observations that are images."""


def example_spaces(cls: type) -> tuple[Any, ...]:
    """Instances of a class of spaces, the likeliest first; empty for other classes, and for spaces of other kinds."""
    package = _package(cls)
    if package is None or "numpy" not in sys.modules:
        return ()
    try:
        vector = package.Box(-1.0, 1.0, VECTOR)
        image = package.Box(0, 255, IMAGE, sys.modules["numpy"].uint8)
        both, numbers = package.Dict({"image": image, "vector": vector}), package.Dict({"vector": vector})
    except Exception:  # an old gym does not work with a new NumPy, and a program may have such classes of its own
        return ()
    examples = {package.Box: (vector, image), package.Dict: (both, numbers)}
    return (vector, both, image, numbers) if cls is getattr(package, "Space", None) else examples.get(cls, ())


def _package(cls: type) -> Any:
    """The module that has ``cls`` and the other classes of spaces; None if there is none."""
    names = (cls.__module__, cls.__module__.rpartition(".")[0])
    modules = (sys.modules.get(name) for name in names if getattr(sys.modules.get(name), cls.__name__, None) is cls)
    return next((module for module in modules if all(hasattr(module, name) for name in _SPACES)), None)
