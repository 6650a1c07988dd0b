"""Provides a missing package at the place of its import, where nothing would catch the error.

An error that a module raises cannot be taken back: all that was being imported has to be imported again. Where nothing
would catch the error of an import, the package is therefore provided before the error is raised. With many missing
packages, a large workspace would otherwise be imported as many times.
"""

from __future__ import annotations

import dis
import importlib.abc
import importlib.machinery
import sys
import traceback
from collections.abc import Callable, Sequence
from types import CodeType, FrameType, ModuleType

from fx_lsp.agent.own_files import AGENT_FOLDER
from fx_lsp.agent.traceback_steps import Belongs

Provide = Callable[[str, FrameType], importlib.machinery.ModuleSpec | None]
"""Provides a top-level package, given its name and the frame that imports it."""

_OF_PYTHON = "<frozen importlib._bootstrap"
"""How the files of Python's import system begin; ``importlib.util``, which only asks for a module, is not among them."""


class LastFinder(importlib.abc.MetaPathFinder):
    """Is asked for the top-level packages that all other finders did not find."""

    def __init__(self, importer: CodeType, belongs: Belongs, provide: Provide) -> None:
        """``importer`` is the agent's function that imports a file; ``belongs`` tells the workspace's files."""
        self._importer = importer
        self._belongs = belongs
        self._provide = provide

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a package that the workspace imports where nothing would catch an error; None for any other."""
        if path is not None:
            return None
        frames = [frame for frame, _ in traceback.walk_stack(sys._getframe(1))]
        end = next((index for index, frame in enumerate(frames) if frame.f_code is self._importer), 0)
        skipped = (_OF_PYTHON, AGENT_FOLDER)
        others = [frame for frame in frames[:end] if not frame.f_code.co_filename.startswith(skipped)]
        is_own = bool(others) and self._belongs(others[0].f_code.co_filename)
        return self._provide(fullname, others[0]) if is_own and not any(map(_may_catch, others)) else None


def _may_catch(frame: FrameType) -> bool:
    """Whether ``frame`` is in a block that may catch an error, which is known from Python 3.11 on."""
    handlers = getattr(dis.Bytecode(frame.f_code), "exception_entries", None)
    return handlers is None or any(one.start <= frame.f_lasti < one.end for one in handlers)
