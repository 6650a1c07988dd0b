"""Passes over breakpoints: nobody could answer a debugger here, so that it would end the program."""

from __future__ import annotations

import bdb
import sys


def pass_over_breakpoints() -> None:
    """From now on, make ``breakpoint()`` do nothing, nor ``set_trace()`` of pdb and of subclasses such as ipdb's."""
    sys.breakpointhook = lambda *args, **kwargs: None
    bdb.Bdb.set_trace = lambda self, frame=None: None  # type: ignore[method-assign]
