"""Run passes that take a module, or any other object, and return the result.

``fxcore.passes.infra.pass_manager`` is for passes that also say whether they have changed anything.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from fxcore.passes.schedule import (
    Constraint,
    Pass,
    Schedule,
    _validate_pass_schedule_constraint,
    this_before_that_pass_constraint,
)

__all__ = [
    "PassManager",
    "_validate_pass_schedule_constraint",
    "inplace_wrapper",
    "log_hook",
    "loop_pass",
    "these_before_those_pass_constraint",
    "this_before_that_pass_constraint",
]

_T = TypeVar("_T")

logger = logging.getLogger(__name__)


def inplace_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Make a pass of a function that changes its first argument: it returns that argument."""

    @functools.wraps(fn)
    def wrapped_fn(gm: _T, *args: Any, **kwargs: Any) -> _T:
        fn(gm, *args, **kwargs)
        return gm

    return wrapped_fn


def log_hook(fn: Callable[..., _T], level: int = logging.INFO) -> Callable[..., _T]:
    """Make a pass log what it returns; to be put around it before ``inplace_wrapper`` is."""

    @functools.wraps(fn)
    def wrapped_fn(*args: Any, **kwargs: Any) -> _T:
        result = fn(*args, **kwargs)
        logger.log(level, "Pass %s returned %s", fn, result)
        return result

    return wrapped_fn


def loop_pass(
    base_pass: Callable[[_T], _T], n_iter: int | None = None, predicate: Callable[[_T], bool] | None = None
) -> Callable[[_T], _T]:
    """Make a pass that runs another again and again.

    Args:
        base_pass: The pass to run.
        n_iter: How often; or else
        predicate: Whether once more, given the result so far.

    Raises:
        AssertionError: Both of the two are given, or none.
        RuntimeError: When it runs: ``n_iter`` is not positive.
    """
    if (n_iter is None) == (predicate is None):
        raise AssertionError("loop_pass takes either n_iter or predicate")

    @functools.wraps(base_pass)
    def new_pass(source: _T) -> _T:
        if n_iter is not None and n_iter <= 0:
            raise RuntimeError(f"loop_pass takes a positive n_iter, not {n_iter}")
        rounds = 0
        while predicate(source) if predicate is not None else rounds < (n_iter or 0):
            source = base_pass(source)
            rounds += 1
        return source

    return new_pass


def these_before_those_pass_constraint(these: Pass, those: Pass) -> Constraint:
    """The constraint that ``these`` run before ``those``, whatever the passes are wrapped in."""
    unwrapped = this_before_that_pass_constraint(these, those)
    return lambda a, b: unwrapped(inspect.unwrap(a), inspect.unwrap(b))


class PassManager(Schedule):
    """Runs a list of passes, each on the result of the one before, after a check of their order."""

    @classmethod
    def build_from_passlist(cls, passes: list[Pass]) -> PassManager:
        """A manager of these passes, without constraints."""
        return PassManager(passes)

    def remove_pass(self, _passes: Iterable[str] | None) -> None:
        """Remove all passes with these names (their ``__name__``)."""
        names = set(_passes or ())
        self.passes = [each for each in self.passes if each.__name__ not in names]
        self._validated = False

    def replace_pass(self, _target: Pass, _replacement: Pass) -> None:
        """Replace every pass named like ``_target``."""
        self.passes = [_replacement if each.__name__ == _target.__name__ else each for each in self.passes]
        self._validated = False

    def __call__(self, source: Any) -> Any:
        """Run the passes on ``source`` and return the last one's result; ``RuntimeError`` as by ``validate``."""
        self.validate()
        for each in self.passes:
            source = each(source)
        return source
