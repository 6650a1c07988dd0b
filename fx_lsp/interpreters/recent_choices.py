"""Remembers for a while which interpreter was chosen: a choice searches many folders, and one edit asks often."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from fx_lsp.interpreters.interpreter_choice import Interpreter


class RecentChoices:
    """The choices of ``choose``, for each file and what was said about it, until ``seconds`` have passed."""

    def __init__(
        self, choose: Callable[..., Interpreter], seconds: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._choose = choose
        self._seconds = seconds
        self._now = now
        self._since = now()
        self._chosen: dict[tuple[object, ...], Interpreter] = {}

    def of(self, file: Path, root: Path, *, setting: Sequence[str], selected: Sequence[str]) -> Interpreter:
        """The interpreter that serves ``file``, a file or a folder; see `choose` for the arguments."""
        if self._now() - self._since > self._seconds:
            self.forget()
        key = file, root, tuple(setting), tuple(selected)
        if key not in self._chosen:
            self._chosen[key] = self._choose(file, root, setting=setting, selected=selected)
        return self._chosen[key]

    def forget(self) -> None:
        """Choose anew from now on: a file that decides has changed."""
        self._since = self._now()
        self._chosen.clear()
