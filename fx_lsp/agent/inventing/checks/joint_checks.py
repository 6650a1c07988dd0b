"""Finds values of several arguments that together let a check pass which no single changed value does.

Examples are ``assert n_layers == len(heads) == len(features) - 1`` and ``assert len({len(a), len(b), len(c)}) == 1``.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any, TypeGuard

from fx_lsp.agent.frame_code import is_pure, names_in
from fx_lsp.agent.inventing.checks.failed_checks import PARTS, Check, Passing, checks_at, invented_parts, resized
from fx_lsp.agent.inventing.invented_values import Misused

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
        if 2 <= len({path for _, _, path in parts}) <= MOST_PARTS:
            yield from itertools.islice(_passing(check, names, parts), MOST_TOGETHER)


def _passing(
    check: Check, names: dict[str, Any], parts: Sequence[tuple[str, Any, str]]
) -> Iterator[tuple[Passing, ...]]:
    by_path = {path: value for _, value, path in parts}  # one value may be at several places in the check
    aliases = {path: f"_fx_lsp_candidate_{at}" for at, path in enumerate(by_path)}
    try:
        tests = [_compiled(test, {source: aliases[path] for source, _, path in parts}) for test in check.tests]
    except (SyntaxError, ValueError):
        return
    counted = {ast.unparse(call.args[0]) for test in check.tests for call in ast.walk(test) if _is_length(call)}
    lists = {path for source, _, path in parts if source in counted}
    options = [[*_options(value, path, is_list=path in lists)] for path, value in by_path.items()]
    alike = (tuple(one[at] for one in options) for at in range(len(_SMALL)))  # the likeliest: all lists are as long
    for chosen in itertools.islice(itertools.chain(alike, itertools.product(*options)), MOST_TRIALS):
        values = dict(zip(aliases.values(), (value for _, value in chosen), strict=True))
        try:
            results = [bool(eval(test, {**names, **values})) for test in tests]
        except (Exception, Misused):
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


def _compiled(test: ast.expr, names: dict[str, str]) -> CodeType:
    """``test`` with names in place of expressions; those that a comprehension binds stay as they are."""

    class Renaming(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            is_read = isinstance(node, PARTS) and isinstance(node.ctx, ast.Load)
            if is_read and (name := names.get(ast.unparse(node))):
                return ast.copy_location(ast.Name(name, ast.Load()), node)
            return self.generic_visit(node)

    bound = {part.id for part in ast.walk(test) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    names = {source: name for source, name in names.items() if source.partition(".")[0] not in bound}
    tree = Renaming().visit(ast.parse(ast.unparse(test), mode="eval"))
    assert isinstance(tree, ast.Expression)
    return compile(ast.fix_missing_locations(tree), "<check>", "eval")
