"""How long a process stood in line for a processor: what others took of its time is not to count against it."""

from __future__ import annotations

from pathlib import Path

MOST = 4.0
"""A process gets no more than so many times its limit, whatever it waited for."""

LEAST_SECONDS = 0.05
"""It is not worth to wait for less."""


class Queueing:
    """What the main thread of one process is owed on top of ``seconds`` that it was granted."""

    def __init__(self, pid: int, seconds: float) -> None:
        self._file = Path(f"/proc/{pid}/schedstat")
        self._left = (MOST - 1) * seconds
        self._paid = self._stood()

    def owed(self) -> float:
        """Seconds that it stood in line since this was last asked; 0 where that is next to nothing, or has to end.

        0 also where the system does not tell: Linux does.
        """
        stood = self._stood()
        owed = min(stood - self._paid, self._left)
        if owed < LEAST_SECONDS:
            return 0.0
        self._paid = stood
        self._left -= owed
        return owed

    def _stood(self) -> float:
        """Seconds for which it could have run, and did not, since it was started."""
        try:
            return int(self._file.read_text().split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            return 0.0
