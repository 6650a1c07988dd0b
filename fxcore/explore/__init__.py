"""Tracing past the first failure, to find every place of a program that can't be traced in one run.

It may import fxcore's top modules, `fxcore.tracing`, `fxcore.source` and `fxcore.failures`. Start reading at
`explorer`, whose names this package exports.
"""

from fxcore.explore.explorer import Exploration, explore
from fxcore.explore.likely_answers import LOOP_TURNS

__all__ = ["LOOP_TURNS", "Exploration", "explore"]
