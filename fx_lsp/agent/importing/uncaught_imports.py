"""Finds out whether anything would catch the error of an import that fails.

An error that a module raises cannot be taken back: all that was being imported has to be imported again. Where nothing
would catch the error, a missing package is therefore provided before the error is raised. With many missing packages, a
large workspace would otherwise be imported as many times.
"""

from __future__ import annotations

import dis
import sys
import traceback
from types import CodeType, FrameType

from fx_lsp.agent.own_files import is_own_file

_OF_PYTHON = "<frozen importlib._bootstrap"
"""How the file names of Python's import system begin; ``importlib.util``, which only asks for a module, is not one."""


def importing_frames(importer: CodeType) -> list[FrameType]:
    """The frames of the program that led to the running import, the one with the import statement first.

    ``importer`` is the agent's function that imports a file. The result is empty if that is not running.
    """
    frames = [frame for frame, _ in traceback.walk_stack(sys._getframe(1))]
    end = next((index for index, frame in enumerate(frames) if frame.f_code is importer), 0)
    files = [(frame, frame.f_code.co_filename) for frame in frames[:end]]
    return [frame for frame, file in files if not file.startswith(_OF_PYTHON) and not is_own_file(file)]


def may_catch(frame: FrameType) -> bool:
    """Whether ``frame`` is in a block that may catch an error, which is known from Python 3.11 on."""
    handlers = getattr(dis.Bytecode(frame.f_code), "exception_entries", None)
    return handlers is None or any(one.start <= frame.f_lasti < one.end for one in handlers)
