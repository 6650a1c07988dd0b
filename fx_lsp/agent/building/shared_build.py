"""Builds a target once for several runs, if the runs leave what was built as it was."""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Callable, Iterable
from types import FunctionType

import fxcore
from fx_lsp.agent.building.build import Built
from fx_lsp.agent.building.object_state import ObjectState
from fx_lsp.agent.messages import Recipe
from fx_lsp.agent.missing.missing_uses import forget_uses

QUICK_SECONDS = 0.05
"""The processor time of a build that is simply repeated: to record what it built takes about a third of it."""


class SharedBuild:
    """Something built for one run after another; each gets it as it was when it was built."""

    def __init__(self, make: Callable[[bool], Built]) -> None:
        """``make`` builds it; the argument says whether to build it on the meta device."""
        self._make = make
        self._on_meta = True
        self._built: Built | None = None
        self._state: ObjectState | None = None
        """None if changes of what was built may go unseen."""
        self._is_unused = False

    @property
    def is_unused(self) -> bool:
        """Whether it was built ahead, and no run has got it yet."""
        return self._is_unused

    def build_ahead(self) -> Built:
        """Build it on the meta device now, for the first run."""
        forget_uses()
        built = self._built = self._make(True)
        self._on_meta, self._is_unused = True, True
        return built

    def record_state(self) -> None:
        """Record what was built ahead, so that further runs can get it, too."""
        assert self._built is not None
        self._state = _state_of(self._built)

    def recode(self, functions: Iterable[FunctionType]) -> None:
        """Don't take the new code of these functions, which was edited, for a change of what was built."""
        if self._state is not None:
            self._state.recode(functions)

    def move(self, recipe: Recipe) -> None:
        """Take ``recipe``, which is the same one on other lines, for the recipe of what was built ahead."""
        assert self._built is not None
        self._built = dataclasses.replace(self._built, recipe=recipe)

    def get(self, *, on_meta: bool) -> Built:
        """What was built last, with a new tracer, if nothing has changed it; otherwise, build it again."""
        is_ready = self._built is not None and self._on_meta == on_meta
        if not is_ready or not (self._is_unused or (self._state is not None and self._state.holds())):
            self._built = self._state = None  # two models may be too large for the memory limit
            began = time.process_time()
            self._built, self._on_meta = self._make(on_meta), on_meta
            if time.process_time() - began > QUICK_SECONDS:
                self._state = _state_of(self._built)
        self._is_unused = False
        assert self._built is not None
        return dataclasses.replace(self._built, tracer=copy.copy(self._built.tracer))


def _state_of(built: Built) -> ObjectState | None:
    """The state of what was built; None if a change may go unseen, or if the file's own tracer may keep something."""
    if built.recipe.tracer is not None or type(built.tracer) is not fxcore.Tracer:
        return None
    try:
        return ObjectState((built.root, built.concrete_args))
    except Exception:
        return None
