"""Remembers that a target can't be built, which may take as long as to build it, so that nobody tries it again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fx_lsp.agent.proving.run_in_child import ProofEnded
from fx_lsp.agent.traceback_steps import describe, is_about_meta

T = TypeVar("T")


class NotBuilt(ProofEnded):
    """The target can't be built."""

    is_about_meta = False
    """Whether the meta device is to blame."""

    @classmethod
    def because_of(cls, error: Exception) -> NotBuilt:
        """The end of a proof whose target can't be built because of ``error``."""
        end = cls("untried", f"building the target raises {describe(error)}")
        end.has_no_program = True
        end.is_about_meta = is_about_meta(error)
        return end


class FailedBuilds:
    """How building one target fails, as far as is known: on the meta device, and on the CPU."""

    def __init__(self) -> None:
        self._ends: dict[bool, NotBuilt] = {}
        """By whether it was built on the meta device."""

    def is_known(self, *, on_meta: bool) -> bool:
        """Whether a build on this device has failed before."""
        return on_meta in self._ends

    def raise_unless_cpu_may_help(self) -> None:
        """Raises `NotBuilt` if a build has failed on the meta device for a reason that has nothing to do with it."""
        end = self._ends.get(True)
        if end is not None and not end.is_about_meta:
            raise end

    def unless_known(self, job: Callable[[], T], *, on_meta: bool) -> T:
        """What ``job`` returns, which first builds the target. Raises `NotBuilt` at once if a build has failed before.

        Raises what ``job`` raises; if that is `NotBuilt`, it is remembered.
        """
        if on_meta in self._ends:
            raise self._ends[on_meta]
        try:
            return job()
        except NotBuilt as end:
            self._ends[on_meta] = end
            raise
