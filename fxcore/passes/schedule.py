"""The order of passes, and constraints on it.

A constraint is a function ``(a, b) -> bool`` that says whether pass ``a`` may run before pass ``b``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "Constraint",
    "Pass",
    "Schedule",
    "_topological_sort_passes",
    "_validate_pass_schedule_constraint",
    "this_before_that_pass_constraint",
]

Pass = Callable[..., Any]
Constraint = Callable[[Pass, Pass], bool]


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """The constraint that ``this`` runs before ``that``."""

    def depends_on(a: Pass, b: Pass) -> bool:
        return a != that or b != this

    return depends_on


def _validate_pass_schedule_constraint(constraint: Constraint, passes: Sequence[Pass]) -> None:
    """Check that passes are in an order that a constraint allows.

    Raises:
        RuntimeError: They are not; the message names two passes in the wrong order.
    """
    for later, b in enumerate(passes):
        for earlier, a in enumerate(passes[:later]):
            if not constraint(a, b):
                raise RuntimeError(f"Pass {b} at index {later} must run before pass {a} at index {earlier}")


def _topological_sort_passes(passes: Sequence[Pass], constraints: Sequence[Constraint]) -> list[Pass]:
    """Put passes into an order that the constraints allow; among those that are free to run, the first comes first.

    Source: A. B. Kahn, "Topological sorting of large networks", CACM 5 (1962).

    Raises:
        RuntimeError: There is no such order.
    """
    if not constraints:
        return list(passes)
    followers: dict[Pass, list[Pass]] = {each: [] for each in passes}
    waiting_for: dict[Pass, int] = dict.fromkeys(passes, 0)
    for a in passes:
        for b in passes:
            violated = sum(not constraint(a, b) for constraint in constraints) if a != b else 0
            followers[b] += [a] * violated
            waiting_for[a] += violated
    ready = deque(each for each in passes if not waiting_for[each])
    result: list[Pass] = []
    while ready:
        each = ready.popleft()
        result.append(each)
        for follower in followers[each]:
            waiting_for[follower] -= 1
            if not waiting_for[follower]:
                ready.append(follower)
    if stuck := [each for each, count in waiting_for.items() if count]:
        raise RuntimeError(f"The constraints leave no order for the passes {stuck}")
    return result


class Schedule:
    """A list of passes that is built step by step, and whether its order was found to be as the constraints ask."""

    def __init__(self, passes: list[Pass] | None = None, constraints: list[Constraint] | None = None) -> None:
        """Take the passes in the order they run in, and constraints on that order."""
        self.passes = passes or []
        self.constraints = constraints or []
        self._validated = False

    def add_pass(self, _pass: Pass) -> None:
        """Append a pass."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Append a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def validate(self) -> None:
        """Check the order of the passes, unless that was done.

        Raises:
            RuntimeError: It violates a constraint.
        """
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
            self._validated = True
