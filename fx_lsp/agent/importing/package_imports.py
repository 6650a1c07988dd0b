"""Gives the import of an installed package more time than the user's own code: its user can't make it faster."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType

MOST_GRANTS = 5
"""How often the time limit is granted once more while packages are imported."""


class PackageImports:
    """Decides whether to grant a program more time because it imports a package."""

    def __init__(self, owns: Callable[[str], bool], granted: Callable[[], object]) -> None:
        """``owns`` says which files are the workspace's; ``granted`` is called whenever more time is granted."""
        self._owns = owns
        self._granted = granted
        self._left = MOST_GRANTS

    def grant(self, frame: FrameType | None) -> bool:
        """Whether the code that runs in ``frame`` may run for as long again as it could before."""
        if self._left == 0 or not self._imports_package(frame):
            return False
        self._left -= 1
        self._granted()
        return True

    def _imports_package(self, frame: FrameType | None) -> bool:
        """Whether the innermost function of the workspace, if any is running, is importing a module from elsewhere."""
        while frame is not None and not self._owns(frame.f_code.co_filename):
            if frame.f_code.co_name == "<module>" and not frame.f_code.co_filename.startswith("<"):
                return True
            frame = frame.f_back
        return False
