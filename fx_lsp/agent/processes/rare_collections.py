"""Keeps the garbage collector from searching, again and again, what imports define, which is hardly ever garbage."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

OBJECTS = 200_000
"""How many more objects there have to be before the collector looks for garbage: more than most packages define, but
few enough for code that does more than define things when it is imported."""


@contextlib.contextmanager
def rare_collections() -> Iterator[None]:
    """A context for imports."""
    usual = gc.get_threshold()
    gc.set_threshold(OBJECTS)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
