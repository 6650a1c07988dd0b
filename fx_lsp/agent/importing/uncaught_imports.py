"""Finds out whether anything would catch the error of an import that fails.

An error that a module raises cannot be taken back: all that was being imported has to be imported again. Where nothing
would catch the error, a missing package is therefore provided before the error is raised. With many missing packages, a
large workspace would otherwise be imported as many times.
"""

from __future__ import annotations

import dis
import sys
import traceback
from collections.abc import Callable
from types import FrameType

from fx_lsp.agent.own_files import is_own_file

_OF_PYTHON = "<frozen importlib._bootstrap"
"""How the file names of Python's import system begin; ``importlib.util``, which only asks for a module, is not one."""


def importing_frames(owns: Callable[[str], bool]) -> list[FrameType]:
    """The frames of the program that led to the running import, the one with the import statement first.

    ``owns`` says which files are the workspace's: what is below the outermost frame of one of them is no part of the
    program. Empty if an import statement of the workspace isn't what is running.
    """
    frames = [frame for frame, _ in traceback.walk_stack(sys._getframe(1))]
    owned = [index for index, frame in enumerate(frames) if owns(frame.f_code.co_filename)]
    files = [(frame, frame.f_code.co_filename) for frame in frames[: owned[-1] + 1]] if owned else []
    found = [frame for frame, file in files if not file.startswith(_OF_PYTHON) and not is_own_file(file)]
    return found if found and owns(found[0].f_code.co_filename) else []


def may_catch(frame: FrameType) -> bool:
    """Whether ``frame`` is in a block that may catch an error, which is known from Python 3.11 on."""
    handlers = getattr(dis.Bytecode(frame.f_code), "exception_entries", None)
    return handlers is None or any(one.start <= frame.f_lasti < one.end for one in handlers)
