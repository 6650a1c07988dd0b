"""Remembers which arguments were invented for a class, so that a process can build it again without another search.

A search depends on the program's text, so only processes that never see another text may remember what they have found.
Those that report a capture do: they build a program several times. Those that prove an edit do not, since they also
build it with other sizes.
"""

from __future__ import annotations

from fx_lsp.agent.inventing.argument_plan import ArgumentPlan, Maker, PlanState
from fx_lsp.agent.inventing.written_settings import WrittenSettings


class PlanMemory:
    """The plans that led to a module, by the class or function that they are for."""

    def __init__(self) -> None:
        self._is_on = False
        self._known: dict[Maker, tuple[WrittenSettings, PlanState]] = {}

    def switch_on(self) -> None:
        """Remember plans from now on, in this process and in those that it forks."""
        self._is_on = True

    def keep(self, plan: ArgumentPlan) -> None:
        """Remember a plan, unless that is switched off."""
        if self._is_on:
            self._known[plan.cls] = plan.written, plan.state

    def follow(self, plan: ArgumentPlan) -> bool:
        """Make ``plan`` the one that is remembered for its class; returns whether there is one."""
        known = self._known.get(plan.cls)
        if known is not None:
            plan.written, plan.state = known
        return known is not None


PLANS = PlanMemory()
"""What this process remembers."""
