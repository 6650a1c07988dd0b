"""Run passes that report whether they changed anything, until none of them changes anything."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable
from typing import Any, cast

from torch.nn import Module

from fxcore.graph_module import GraphModule
from fxcore.passes.infra.pass_base import PassResult
from fxcore.passes.pass_manager import (
    Constraint,
    Pass,
    Schedule,
    _topological_sort_passes,
    _validate_pass_schedule_constraint,
    this_before_that_pass_constraint,
)

__all__ = [
    "PassManager",
    "_topological_sort_passes",
    "_validate_pass_schedule_constraint",
    "pass_result_wrapper",
    "this_before_that_pass_constraint",
]

logger = logging.getLogger(__name__)


def pass_result_wrapper(fn: Callable[..., Any]) -> Callable[..., PassResult | None]:
    """Make a pass from a function that returns a module, or None for the module that it was given.

    The pass counts as having changed the module, unless the function returns a ``PassResult`` itself.
    """

    @functools.wraps(fn)
    def wrapped_fn(gm: Module) -> PassResult | None:
        result = fn(gm)
        if isinstance(result, PassResult):
            return result
        if result is None or isinstance(result, Module):
            return PassResult(gm if result is None else result, True)
        return None

    wrapped_fn.__name__ = _name_of(fn)
    return wrapped_fn


class PassManager(Schedule):
    """Runs passes, in an order that satisfies constraints, until nothing changes or a number of rounds is reached.

    Attributes:
        passes: The passes; they are sorted when they are run, unless the constraints have already been checked.
        constraints: Functions ``(a, b) -> bool`` that return whether pass ``a`` may run before pass ``b``.
        steps: The maximum number of rounds; a subclass may set it.
        run_checks_after_each_pass: Whether to run the check not only before the first pass, but also after each pass.
        suppress_check_failures: Not used, as in torch.fx; accepted for compatibility.
    """

    steps: int = 1

    def __init__(
        self,
        passes: list[Pass] | None = None,
        constraints: list[Constraint] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        super().__init__(passes, constraints)
        self.steps = steps or self.steps
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures

    def validate_constraints(self) -> None:
        """Check the order of the passes.

        Raises:
            RuntimeError: The order violates a constraint.
        """
        self.validate()

    def solve_constraints(self) -> None:
        """Sort the passes so that the constraints are satisfied.

        Raises:
            RuntimeError: There is no such order.
        """
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Callable[[Module], None]) -> None:
        """Set the check: a function that raises if a module isn't as it should be.

        Raises:
            TypeError: ``check`` does not take exactly one parameter.
        """
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("A check must take one parameter, the module")
        self.check = check  # type: ignore[assignment, method-assign]

    def check(self, module: Module) -> None:
        """The check that runs before the first pass; does nothing unless ``add_checks`` or a subclass replaces it."""

    def __call__(self, module: Module) -> PassResult:
        """Run the passes.

        Args:
            module: The module to run the passes on.

        Returns:
            The resulting module, and whether any pass has changed anything.

        Raises:
            Exception: A pass or the check after it failed; the message names the pass and the passes before it.
            RuntimeError: The constraints can't be satisfied.
        """
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed_at_all = False
        for _ in range(self.steps):
            module, changed = self._run_once(module)
            changed_at_all |= changed
            if not changed:
                break
        return PassResult(module, changed_at_all)

    def _run_once(self, module: Module) -> tuple[Module, bool]:
        """Run each pass once."""
        changed = False
        for index, each in enumerate(self.passes):
            try:
                result = self._run_pass(each, module)
            except Exception as error:
                earlier = [_name_of(other) for other in self.passes[:index]]
                raise Exception(f"The pass {_name_of(each)!r} failed after the passes {earlier}") from error
            module, changed = result.graph_module, changed or result.modified
        return module, changed

    def _run_pass(self, each: Pass, module: Module) -> PassResult:
        logger.debug("Running pass %s", _name_of(each))
        result = each(module)
        if not hasattr(result, "graph_module"):
            raise TypeError(
                f"The pass {_name_of(each)!r} did not return a PassResult; wrap the pass with pass_result_wrapper()"
            )
        if isinstance(result.graph_module, GraphModule):
            result.graph_module.recompile()
        if self.run_checks_after_each_pass:
            self.check(result.graph_module)
        return cast(PassResult, result)


def _name_of(each: Pass) -> str:
    """The name of a function; for any other callable, the name of its class."""
    return each.__name__ if inspect.isfunction(each) else type(each).__name__
