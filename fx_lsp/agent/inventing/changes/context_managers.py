"""Invents context managers, which a program needs where it writes ``with context:`` or ``with self.autocast():``."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator

from fx_lsp.agent.frame_code import names_in, tree_of, value_of
from fx_lsp.agent.inventing.argument_kinds import ArgumentKind
from fx_lsp.agent.inventing.argument_plan import ArgumentPlan
from fx_lsp.agent.inventing.changes.change import Change
from fx_lsp.agent.inventing.error_values import path_of, steps_of
from fx_lsp.agent.inventing.failing_statement import statement_at
from fx_lsp.agent.inventing.invented_values import Misused

_METHODS = ("__enter__", "__aenter__", "__exit__", "__aexit__")


def entered(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """Context managers in place of values that the program enters, and functions that return them, if it calls them."""
    is_about = isinstance(error, TypeError) and "context manager protocol" in str(error)
    if not is_about and not (isinstance(error, AttributeError) and str(error) in _METHODS):  # of Python 3.10
        return
    for frame, line in steps_of(error.__traceback__):
        statement = statement_at(tree_of(frame.f_code) or ast.Module([], []), line)
        for item in statement.items if isinstance(statement, ast.With) else ():
            used = item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr
            kind = ArgumentKind("value", contextlib.nullcontext() if used is item.context_expr else _nothing)
            with contextlib.suppress(Exception, Misused):
                value = value_of(used, names_in(frame, line))
                path = path_of(value, plan.made)
                if path in plan.kinds:
                    yield Change(path, kind)
                elif value is None:  # a default
                    name = ast.unparse(used).rpartition(".")[2]
                    yield from (Change(one, kind, (one,)) for one in plan.taken([name], by_name=True))


def _nothing(*_: object, **__: object) -> contextlib.AbstractContextManager[None]:
    """A context manager that does nothing, whatever it is asked for."""
    return contextlib.nullcontext()
