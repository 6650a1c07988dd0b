"""Gives work that consists of counted steps more time, as long as it goes on to further steps.

Such work ends after the same steps on every machine. The time limit need only end a step that is stuck.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType

MOST_GRANTS = 5
"""How often the time limit is granted once more: steps that each take nearly as long as it may be too many."""

_begun = 0
"""How many steps this process has begun."""


def begin_step() -> None:
    """Note that a step begins."""
    global _begun
    _begun += 1


class CountedSteps:
    """Decides whether to grant a program more time because it has finished a step."""

    def __init__(self, granted: Callable[[], object]) -> None:
        """``granted`` is called whenever more time is granted."""
        self._granted = granted
        self._left = MOST_GRANTS
        self._running = _begun + 1
        """The number of the step that was running when time was last granted; at first, that of the next one."""

    def grant(self, frame: FrameType | None) -> bool:
        """Whether the program may run for as long again as it could before."""
        if self._left == 0 or _begun <= self._running:
            return False
        self._left -= 1
        self._running = _begun
        self._granted()
        return True
