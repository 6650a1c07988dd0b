"""Remembers which arguments were invented for a class, so that processes can build it again without another search.

A search depends on the program's text. What was found for one text is followed for that text, whatever the sizes that
constructors receive (see `constructor_sizes`); for an edited text, it is where the search begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from fx_lsp.agent.inventing.argument_plan import ArgumentPlan, PlanState
from fx_lsp.agent.inventing.written_settings import WrittenSettings
from fx_lsp.agent.processes.tensor_pickles import dumped, loaded

Plans = dict[str, str]
"""Pickled plans, by the class or function that they are for, and the device. Only the user's own processes, which are
confined, unpickle them."""


class PlanMemory:
    """The plans that led to a module."""

    def __init__(self) -> None:
        self._is_on = False
        self.known: Plans = {}
        """The plans that were found for the text that this process has imported."""
        self.older: Plans = {}
        """Plans for the text before an edit."""

    def switch_on(self) -> None:
        """Remember plans from now on, in this process and in those that it forks."""
        self._is_on = True

    def switch_off(self) -> None:
        """Forget all plans, and remember none."""
        self._is_on = False
        self.known, self.older = {}, {}

    def keep(self, plan: ArgumentPlan) -> None:
        """Remember a plan, unless that is switched off."""
        if self._is_on:
            with suppress(Exception):  # an invented value may be any object of the user's
                self.known[_key(plan, plan.on_meta)] = dumped((plan.written, plan.state))

    def follow(self, plan: ArgumentPlan) -> bool:
        """Make ``plan`` the one that is known for its class; returns whether there is one."""
        return _adopt(plan, self.known)

    def begin(self, plan: ArgumentPlan) -> None:
        """Make ``plan`` the one that was known for its class before an edit, if there was one."""
        _adopt(plan, self.older)

    @contextmanager
    def following_older(self) -> Iterator[None]:
        """A context in which plans for the text before the edit are followed."""
        known, self.known = self.known, dict(self.older)
        try:
            yield
        finally:
            self.known = known


def _adopt(plan: ArgumentPlan, plans: Mapping[str, str]) -> bool:
    """Make ``plan`` one of ``plans``, preferably one for its own device; returns whether there is one."""
    for on_meta in (plan.on_meta, not plan.on_meta):
        with suppress(Exception):  # it comes from a process that had run the user's code
            written, state = loaded(plans[_key(plan, on_meta)])
            if isinstance(written, WrittenSettings) and isinstance(state, PlanState):
                plan.written, plan.state = written, state
                return True
    return False


def _key(plan: ArgumentPlan, on_meta: bool) -> str:
    return f"{plan.cls.__module__}.{plan.cls.__qualname__}{' on meta' if on_meta else ''}"


PLANS = PlanMemory()
"""What this process remembers."""
