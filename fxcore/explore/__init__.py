"""Traces past the first failure, to find in one run every place of a program that can't be traced.

This package may import fxcore's top-level modules, `fxcore.tracing`, `fxcore.source` and `fxcore.failures`. Start
reading at `explorer`, whose names it exports.
"""

from fxcore.explore.explorer import Exploration, call_refusing, explore
from fxcore.explore.likely_answers import LOOP_TURNS

__all__ = ["LOOP_TURNS", "Exploration", "call_refusing", "explore"]
