"""Remembers which arguments were invented for a class, so that processes can build it again without another search.

A search depends on the program's text. What was found for one text is followed for that text; for an edited text, a
search starts from it. One plan is kept for each class and device: the first that was found, unless constructors were
given other sizes meanwhile (see `constructor_sizes`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from fx_lsp.agent.inventing.argument_plan import ArgumentPlan, PlanState
from fx_lsp.agent.inventing.written_settings import WrittenSettings
from fx_lsp.agent.processes.tensor_pickles import dumped, loaded
from fx_lsp.agent.wire import wire_message

Plans = dict[str, str]
"""Pickled plans, by the class or function that they are for, and the device. Only the user's own processes, which are
confined, unpickle them."""

_ON_META = " on meta"


@wire_message
@dataclass(frozen=True)
class Invented:
    """A message to the agent: the arguments that were invented to trace a target."""

    target: str
    """The target's key."""
    plans: Plans


class PlanMemory:
    """The plans that led to a module."""

    def __init__(self) -> None:
        self._is_on = False
        self.known: Plans = {}
        """The plans that were found for the text that this process has imported."""
        self.before_edit: Plans = {}
        """The plans that were found for the text before the edit."""

    def has_one_for(self, made: object) -> bool:
        """Whether something has been built of the class or function ``made``, with invented arguments."""
        name = f"{getattr(made, '__module__', '')}.{getattr(made, '__qualname__', '')}"
        return any(key.removesuffix(_ON_META) == name for key in self.known)

    def switch_on(self) -> None:
        """Remember plans from now on, in this process and in those that it forks."""
        self._is_on = True

    def switch_off(self) -> None:
        """Forget all plans, and remember none."""
        self._is_on = False
        self.known, self.before_edit = {}, {}

    def keep(self, plan: ArgumentPlan) -> None:
        """Remember a plan, unless that is switched off, or another plan is known for its class and device."""
        if self._is_on and (key := _key(plan, plan.on_meta)) not in self.known:
            with suppress(Exception):  # an invented value may be any object of the user's
                self.known[key] = dumped((plan.written, plan.state))

    def follow(self, plan: ArgumentPlan) -> bool:
        """Make ``plan`` the one that is known for its class; returns whether there is one."""
        return _adopt(plan, self.known)

    def start(self, plan: ArgumentPlan) -> None:
        """Let a search for ``plan`` start from what is known for its class, or was before the edit, if anything."""
        _adopt(plan, self.before_edit or self.known)

    @contextmanager
    def following_those_before_edit(self) -> Iterator[None]:
        """A context in which the plans for the text before the edit are followed, and no others are kept."""
        state = self._is_on, self.known
        self._is_on, self.known = False, self.before_edit
        try:
            yield
        finally:
            self._is_on, self.known = state

    @contextmanager
    def keeping_none(self) -> Iterator[None]:
        """A context in which plans are followed, but none are kept."""
        was_on, self._is_on = self._is_on, False
        try:
            yield
        finally:
            self._is_on = was_on


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
    return f"{plan.cls.__module__}.{plan.cls.__qualname__}{_ON_META if on_meta else ''}"


PLANS = PlanMemory()
"""What this process remembers."""
