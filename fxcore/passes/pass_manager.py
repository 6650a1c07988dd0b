"""Run passes that take a module, or any other object, and return the result, in an order that satisfies constraints.

A constraint is a function ``(a, b) -> bool`` that returns whether pass ``a`` may run before pass ``b``.
``fxcore.passes.infra.pass_manager`` is for passes that also report whether they have changed anything.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

__all__ = [
    "Constraint",
    "Pass",
    "PassManager",
    "Schedule",
    "_topological_sort_passes",
    "_validate_pass_schedule_constraint",
    "inplace_wrapper",
    "log_hook",
    "loop_pass",
    "these_before_those_pass_constraint",
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
        RuntimeError: The order isn't allowed; the message names two passes in the wrong order.
    """
    for later, b in enumerate(passes):
        for earlier, a in enumerate(passes[:later]):
            if not constraint(a, b):
                raise RuntimeError(f"Pass {b} at index {later} must run before pass {a} at index {earlier}")


def _topological_sort_passes(passes: Sequence[Pass], constraints: Sequence[Constraint]) -> list[Pass]:
    """Sort passes into an order that the constraints allow.

    Of several passes that may run next, the one that became ready first is chosen; ties keep the given order.

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
        raise RuntimeError(f"No order of the passes {stuck} satisfies the constraints")
    return result


class Schedule:
    """A list of passes that is built step by step, with constraints on their order."""

    def __init__(self, passes: list[Pass] | None = None, constraints: list[Constraint] | None = None) -> None:
        """Make a schedule of passes, in the order in which they run, and of constraints on that order."""
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
        """Check the order of the passes, unless it has been checked since the last change.

        Raises:
            RuntimeError: The order violates a constraint.
        """
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
            self._validated = True


_T = TypeVar("_T")

logger = logging.getLogger(__name__)


def inplace_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Make a pass from a function that changes its first argument in place: the pass returns that argument."""

    @functools.wraps(fn)
    def wrapped_fn(gm: _T, *args: Any, **kwargs: Any) -> _T:
        fn(gm, *args, **kwargs)
        return gm

    return wrapped_fn


def log_hook(fn: Callable[..., _T], level: int = logging.INFO) -> Callable[..., _T]:
    """Make a pass log what it returns; apply this before ``inplace_wrapper``."""

    @functools.wraps(fn)
    def wrapped_fn(*args: Any, **kwargs: Any) -> _T:
        result = fn(*args, **kwargs)
        logger.log(level, "Pass %s returned %s", fn, result)
        return result

    return wrapped_fn


def loop_pass(
    base_pass: Callable[[_T], _T], n_iter: int | None = None, predicate: Callable[[_T], bool] | None = None
) -> Callable[[_T], _T]:
    """Make a pass that runs another pass repeatedly.

    Args:
        base_pass: The pass to run.
        n_iter: How many times to run it; give this or ``predicate``, not both.
        predicate: A function that is called with the result so far and returns whether to run the pass again.

    Raises:
        AssertionError: Both or neither of ``n_iter`` and ``predicate`` are given.
        RuntimeError: ``n_iter`` is not positive; raised when the new pass runs.
    """
    if (n_iter is None) == (predicate is None):
        raise AssertionError("loop_pass takes exactly one of n_iter and predicate")

    @functools.wraps(base_pass)
    def new_pass(source: _T) -> _T:
        if n_iter is not None and n_iter <= 0:
            raise RuntimeError(f"loop_pass needs a positive n_iter, not {n_iter}")
        rounds = 0
        while predicate(source) if predicate is not None else rounds < (n_iter or 0):
            source = base_pass(source)
            rounds += 1
        return source

    return new_pass


def these_before_those_pass_constraint(these: Pass, those: Pass) -> Constraint:
    """The constraint that ``these`` runs before ``those``, even if the scheduled passes wrap them."""
    unwrapped = this_before_that_pass_constraint(these, those)
    return lambda a, b: unwrapped(inspect.unwrap(a), inspect.unwrap(b))


class PassManager(Schedule):
    """Checks the order of a list of passes, and runs each pass on the result of the previous one."""

    @classmethod
    def build_from_passlist(cls, passes: list[Pass]) -> PassManager:
        """A manager of these passes, without constraints."""
        return PassManager(passes)

    def remove_pass(self, _passes: Iterable[str] | None) -> None:
        """Remove all passes whose ``__name__`` is in ``_passes``."""
        names = set(_passes or ())
        self.passes = [each for each in self.passes if each.__name__ not in names]
        self._validated = False

    def replace_pass(self, _target: Pass, _replacement: Pass) -> None:
        """Replace every pass that has the same ``__name__`` as ``_target``."""
        self.passes = [_replacement if each.__name__ == _target.__name__ else each for each in self.passes]
        self._validated = False

    def __call__(self, source: Any) -> Any:
        """Run the passes on ``source`` and return the last pass's result.

        Raises:
            RuntimeError: The order of the passes violates a constraint.
        """
        self.validate()
        for each in self.passes:
            source = each(source)
        return source
