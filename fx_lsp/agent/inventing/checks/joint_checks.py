"""Finds values of several arguments with which a check passes that no value of a single one lets pass.

Examples are ``assert n_layers == len(heads) == len(features) - 1`` and ``assert len({len(a), len(b), len(c)}) == 1``.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, TypeGuard

from fx_lsp.agent.frame_code import is_pure, names_in
from fx_lsp.agent.inventing.checks.failed_checks import Check, Passing, checks_at, invented_parts, resized

MOST_PARTS = 6
"""How many invented values of one check are changed together."""

MOST_TRIALS = 2000
"""How often one check is evaluated."""

MOST_TOGETHER = 2
"""How many combinations of values are returned for one check."""

_SMALL = (2, 3, 1, 4)
"""The numbers and lengths that are tried."""


def passing_together(frame: FrameType, line: int, path_of: Callable[[Any], str]) -> Iterator[tuple[Passing, ...]]:
    """Values of several arguments that would make the check that raised at ``line`` of ``frame`` pass.

    ``path_of`` returns the path of an invented value, and an empty string for any other value.
    """
    names = names_in(frame, line)
    for check in checks_at(frame.f_code, line):
        parts = invented_parts(check.tests, names, path_of) if all(map(is_pure, check.tests)) else []
        if 2 <= len(parts) <= MOST_PARTS:
            yield from itertools.islice(_passing(check, names, parts), MOST_TOGETHER)


def _passing(
    check: Check, names: dict[str, Any], parts: Sequence[tuple[str, Any, str]]
) -> Iterator[tuple[Passing, ...]]:
    sources = {source: f"_fx_lsp_candidate_{at}" for at, (source, _, _) in enumerate(parts)}
    tests = [compile(_renamed(test, sources), "<check>", "eval") for test in check.tests]
    counted = {ast.unparse(call.args[0]) for test in check.tests for call in ast.walk(test) if _is_length(call)}
    options = [[*_options(value, path, is_list=source in counted)] for source, value, path in parts]
    alike = (tuple(one[at] for one in options) for at in range(len(_SMALL)))  # the likeliest: all lists are as long
    for chosen in itertools.islice(itertools.chain(alike, itertools.product(*options)), MOST_TRIALS):
        values = dict(zip(sources.values(), (value for _, value in chosen), strict=True))
        try:
            results = [bool(eval(test, {**names, **values})) for test in tests]
        except BaseException:  # an invented value may raise `Misused`, which is not an Exception
            continue
        if any(results) == check.passes:
            yield tuple(passing for passing, _ in chosen)


def _is_length(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "len" and len(node.args) == 1


def _options(value: Any, path: str, *, is_list: bool) -> Iterator[tuple[Passing, Any]]:
    """What is tried instead of ``value``; with ``is_list``, lists, even if it is a number so far."""
    for number in _SMALL:
        items = resized(value, number) if isinstance(value, list) else [number] * number
        is_length = is_list or isinstance(value, list)
        yield Passing(path, number, is_length=is_length), items if is_length else number


def _renamed(test: ast.expr, names: dict[str, str]) -> ast.Expression:
    class Renaming(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if isinstance(node, ast.expr) and (name := names.get(ast.unparse(node))):
                return ast.copy_location(ast.Name(name, ast.Load()), node)
            return self.generic_visit(node)

    tree = Renaming().visit(ast.parse(ast.unparse(test), mode="eval"))
    assert isinstance(tree, ast.Expression)
    return ast.fix_missing_locations(tree)
