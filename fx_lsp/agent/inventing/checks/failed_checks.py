"""Reads the check that refused invented arguments, and finds values that would have passed it.

When a constructor raises, the check that failed usually shows what the constructor requires: ``assert dim % heads ==
0``. The check is evaluated again in its own frame with other numbers in place of the invented ones, which is far
cheaper than building the class again.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Literal

from fx_lsp.agent.frame_code import conjuncts, is_at, is_pure, names_in, tree_of, value_of
from fx_lsp.agent.inventing.invented_values import Misused

MOST_PASSING = 3
"""The maximum number of values that are returned for one expression of a check."""

LARGEST = 4096
"""The largest number to try: a check may compute powers of a number, or build a list of that length."""

_NUMBERS = (1, 2, 3, 4, 8, 16, 32, 64, 128)
_LENGTHS = range(1, 9)

PARTS = (ast.Name, ast.Attribute, ast.Subscript)
"""The types of expressions that may refer to an invented value."""


@dataclass(frozen=True)
class Check:
    """The tests whose outcome caused an exception to be raised."""

    tests: tuple[ast.expr, ...]
    passes: bool
    """If True, the check passes if one of the tests holds; if False, it passes if none does."""


@dataclass(frozen=True)
class Passing:
    """A value with which a check passes."""

    path: str
    """The path of the invented value that it replaces."""
    value: int | list[int]
    """A number, the items of a list, or how many items a list has to have."""
    is_length: bool = False


def passing_values(frame: FrameType, line: int, path_of: Callable[[Any], str]) -> Iterator[Passing]:
    """Values that would make the check that raised at ``line`` of ``frame`` pass.

    ``path_of`` returns the path of an invented value, and an empty string for any other value.
    """
    yield from _passing(frame, line, lambda tests, names: invented_parts(tests, names, path_of))


def passing_defaults(frame: FrameType, line: int, paths_named: PathsNamed) -> Iterator[Passing]:
    """Numbers that would make the same check pass in place of parameters' defaults.

    ``paths_named`` returns the paths of the parameters with a name for which no value was invented, given the object
    whose attribute the check reads, if any: ``args`` for ``assert args.width > 0``.
    """
    yield from _passing(frame, line, lambda tests, names: _named_numbers(tests, names, paths_named))


PathsNamed = Callable[[str, Any], Sequence[str]]
"""Finds the paths of parameters, given a name and the object that has it, or None; see `passing_defaults`."""

_Parts = Callable[[tuple[ast.expr, ...], dict[str, Any]], Iterable[tuple[str, Any, str]]]
"""Finds the expressions in tests that may have other values, given the names: with their values and their paths."""


def _passing(frame: FrameType, line: int, parts_of: _Parts) -> Iterator[Passing]:
    names = names_in(frame, line)
    for check in checks_at(frame.f_code, line):
        if not all(map(is_pure, check.tests)):
            continue
        numbers = _numbers_in(check.tests, names)
        for part, value, path in parts_of(check.tests, names):
            substitutes = _substitutes(path, value, numbers)
            passing = (one for one, substitute in substitutes if _holds(check, names, part, substitute))
            yield from itertools.islice(passing, MOST_PASSING)


def _substitutes(path: str, value: Any, numbers: Sequence[int]) -> Iterator[tuple[Passing, Any]]:
    """What may pass in place of ``value``, a number or a list, where a check also has ``numbers``.

    Since the items of an invented list are all alike, a list whose items increase is among them.
    """
    if isinstance(value, int):
        yield from ((Passing(path, one), one) for one in _candidates(int(value), numbers))
        return
    yield from ((Passing(path, length, is_length=True), resized(value, length)) for length in _LENGTHS)
    increasing = [*range(1, len(value) + 1)]
    yield Passing(path, increasing), increasing


def passing_without(frame: FrameType, line: int, path_of: Callable[[Any], str]) -> Iterator[str]:
    """The paths of invented values that the check that raised at ``line`` of ``frame`` would let pass as None.

    ``assert config is None or isinstance(config, dict)`` accepts None. ``path_of`` is as in `passing_values`.
    """
    names = names_in(frame, line)
    for check in checks_at(frame.f_code, line):
        tests = check.tests if all(map(is_pure, check.tests)) else ()
        for node in (node for test in tests for node in ast.walk(test)):
            match node:
                case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
                    with contextlib.suppress(Exception, Misused):
                        path = path_of(value_of(left, names)) if isinstance(left, PARTS) else ""
                        if path and _holds(check, names, ast.unparse(left), None):
                            yield path


def flags_before(frame: FrameType, line: int, path_of: Callable[[Any], str]) -> Iterator[str]:
    """The paths of invented flags that, if they were off, would keep ``line`` of ``frame`` from running.

    ``path_of`` is as in `passing_values`. A comparison, as in ``if width > 0:``, is no flag.
    """
    names = names_in(frame, line)
    for check in _branches_at(frame.f_code, line):
        flags = {ast.unparse(flag) for test in check.tests for flag in _flags_in(test)}
        parts = invented_parts(check.tests, names, path_of) if all(map(is_pure, check.tests)) else []
        yield from (path for part, _, path in parts if part in flags and _holds(check, names, part, False))


def _flags_in(test: ast.expr) -> Iterator[ast.expr]:
    """The expressions that ``test`` takes for true or false."""
    match test:
        case ast.BoolOp(values=values):
            for value in values:
                yield from _flags_in(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _flags_in(operand)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            yield test


def passing_options(frame: FrameType, line: int) -> Iterator[tuple[str, Any]]:
    """Names of options, each with a value that would make the check that raised at ``line`` of ``frame`` pass.

    ``assert self.num_classes == 0`` passes if ``num_classes`` is 0, no matter where its value comes from. An option may
    also be a class: ``if conv is nn.Conv3d: … else: raise``.
    """
    names = names_in(frame, line)
    for check in checks_at(frame.f_code, line):
        for test in check.tests:
            option = _option(test, names, passes=check.passes)
            if option is not None:
                yield option


def passing_attributes(frame: FrameType, line: int) -> Iterator[tuple[Any, str, Any]]:
    """Objects, each with the name of an attribute and a value with which the check at ``line`` of ``frame`` passes.

    ``assert config.kind == Kind.ENCODER`` passes if ``kind`` is that member of the enumeration.
    """
    names = names_in(frame, line)
    for check in checks_at(frame.f_code, line):
        for test in check.tests:
            match test:
                case ast.Compare(left=ast.Attribute(value=owner, attr=name), ops=[operation], comparators=[wanted]):
                    is_wanted = isinstance(operation, (ast.Eq, ast.Is) if check.passes else (ast.NotEq, ast.IsNot))
                    if is_wanted and is_pure(owner) and is_pure(wanted):
                        with contextlib.suppress(Exception, Misused):
                            yield value_of(owner, names), name, value_of(wanted, names)


def numbers_of_check(frame: FrameType, line: int) -> list[int]:
    """The numbers that the check that raised at ``line`` of ``frame`` compares, including those in tuples and lists."""
    found: dict[int, None] = {}
    names = names_in(frame, line)
    tests = [test for check in checks_at(frame.f_code, line) for test in check.tests]
    for node in (node for test in tests for node in ast.walk(test) if isinstance(node, ast.expr)):
        with contextlib.suppress(Exception):
            value = value_of(node, names)
            items = value if isinstance(value, list | tuple) else [value]
            found |= {item: None for item in items if type(item) is int}
    return list(found)


def shapes_of_check(frame: FrameType, line: int) -> list[tuple[int, ...]]:
    """The tuples and lists of several sizes that the check that raised at ``line`` of ``frame`` compares."""
    found: dict[tuple[int, ...], None] = {}
    names = names_in(frame, line)
    tests = [test for check in checks_at(frame.f_code, line) for test in check.tests]
    compared = [node for test in tests for node in ast.walk(test) if isinstance(node, ast.Compare)]
    for side in (side for node in compared for side in (node.left, *node.comparators)):
        match side:
            case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner]):
                side = inner
        with contextlib.suppress(Exception):
            value = value_of(side, names)
            if isinstance(value, list | tuple) and len(value) > 1 and all(type(item) is int for item in value):
                found[tuple(value)] = None
    return list(found)


def names_in_check(frame: FrameType, line: int) -> list[str]:
    """The names of the variables and attributes in the check that raised at ``line`` of ``frame``."""
    tests = (test for check in checks_at(frame.f_code, line) for test in check.tests)
    names = (_name_of(node) for test in tests for node in ast.walk(test) if isinstance(node, ast.expr))
    return list(dict.fromkeys(filter(None, names)))


def lists_in_check(frame: FrameType, line: int) -> Iterator[tuple[str, Literal["list", "tuple"]]]:
    """The names of the variables that the check that raised at ``line`` of ``frame`` wants to be lists or tuples.

    Each comes with which of the two it may be.
    """
    for check in checks_at(frame.f_code, line):
        for test in check.tests:
            match test, check.passes:
                case (ast.Call() as call, True) | (ast.UnaryOp(op=ast.Not(), operand=ast.Call() as call), False):
                    if ast.unparse(call.func) == "isinstance" and len(call.args) == 2:
                        kinds = {node.id for node in ast.walk(call.args[1]) if isinstance(node, ast.Name)}
                        if kinds and kinds <= {"list", "tuple", "Sequence", "Iterable"}:
                            yield _name_of(call.args[0]), "tuple" if kinds == {"tuple"} else "list"


def _option(test: ast.expr, names: dict[str, Any], *, passes: bool) -> tuple[str, Any] | None:
    """The option that ``test`` reads, and a value with which the test holds (``passes``) or does not hold."""
    value: Any
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _option(operand, names, passes=not passes)
        case ast.Compare(left=left, ops=[operation], comparators=[compared]):
            is_wanted = isinstance(operation, (ast.Eq, ast.Is) if passes else (ast.NotEq, ast.IsNot))
            is_constant = isinstance(compared, ast.Constant)
            value = compared.value if isinstance(compared, ast.Constant) else _class_of(compared, names)
            name = _name_of(left) if is_wanted and (is_constant or value is not None) else ""
        case ast.Call(func=ast.Name(id="issubclass"), args=[ast.Name(id=name), asked]) if passes:
            value = _class_of(asked, names)
            name = name if value is not None else ""
        case _:
            name, value = _name_of(test), passes
    return (name, value) if name else None


def _class_of(node: ast.expr, names: dict[str, Any]) -> type | None:
    """The class that an expression names; None if it names none."""
    with contextlib.suppress(Exception, Misused):
        value = value_of(node, names) if isinstance(node, PARTS) else None
        return value if isinstance(value, type) else None
    return None


def class_names_in_check(frame: FrameType, line: int) -> Iterator[tuple[str, str]]:
    """Names of classes that the check that raised at ``line`` of ``frame`` compares, each with the name that it wants.

    ``if space.__class__.__name__ == "Box": … else: raise`` wants the name ``Box`` instead of that of the class.
    """
    names = names_in(frame, line)
    for check in checks_at(frame.f_code, line):
        for test in check.tests:
            match test, check.passes:
                case (ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=str(wanted))]), True) | (
                    ast.Compare(left=left, ops=[ast.NotEq()], comparators=[ast.Constant(value=str(wanted))]),
                    False,
                ):
                    with contextlib.suppress(Exception, Misused):
                        value = value_of(left, names) if is_pure(left) else None
                        if type(value) is str:
                            yield value, wanted


def _name_of(node: ast.expr) -> str:
    """The name of a variable or attribute; empty for any other expression."""
    match node:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(), attr=name):
            return name
    return ""


def checks_at(code: CodeType, line: int) -> tuple[Check, ...]:
    """The ``assert`` at a line, or the tests that lead to the ``raise`` there; the innermost first."""
    tree = tree_of(code)
    return _checks_in(tree, line) if tree is not None else ()


@functools.lru_cache(maxsize=256)
def _checks_in(tree: ast.Module, line: int) -> tuple[Check, ...]:
    """As `_checks_at`. A search for inputs fails at the same line hundreds of times."""
    checks: list[Check] = []
    for node in reversed(list(ast.walk(tree))):
        if isinstance(node, ast.Assert) and is_at(node, line):
            checks += (Check((part,), passes=True) for part in conjuncts(node.test))
        elif isinstance(node, ast.If):
            if any(_raises_at(statement, line) for statement in node.body):
                checks.append(Check((node.test,), passes=False))
            elif any(_raises_at(statement, line) for statement in node.orelse):
                checks.append(Check((node.test,), passes=True))
    return tuple(checks)


def _branches_at(code: CodeType, line: int) -> Iterator[Check]:
    """The tests of the branches that contain a line; the innermost first."""
    tree = tree_of(code)
    for node in reversed(list(ast.walk(tree))) if tree else ():
        if isinstance(node, ast.If):
            if any(is_at(statement, line) for statement in node.body):
                yield Check((node.test,), passes=False)
            elif any(is_at(statement, line) for statement in node.orelse):
                yield Check((node.test,), passes=True)


def _raises_at(statement: ast.stmt, line: int) -> bool:
    return isinstance(statement, ast.Raise) and is_at(statement, line)


def invented_parts(
    tests: tuple[ast.expr, ...], names: dict[str, Any], path_of: Callable[[Any], str]
) -> list[tuple[str, Any, str]]:
    """The expressions in ``tests`` whose values are invented numbers or lists, with these values and their paths."""
    found: dict[str, tuple[str, Any, str]] = {}
    parts = (node for test in tests for node in ast.walk(test) if isinstance(node, PARTS))
    for source in dict.fromkeys(map(ast.unparse, parts)):
        try:
            value = eval(source, names)
            path = (path_of(value) or _path_of_copied(value, path_of)) if isinstance(value, int | list) else ""
        except BaseException:  # an invented value may raise `Misused`, which is not an Exception
            continue
        if path:
            found[source] = source, value, path
    return list(found.values())


def _path_of_copied(value: Any, path_of: Callable[[Any], str]) -> str:
    """The path of the invented list of which ``value`` is a copy, as ``list(cutoffs)`` is; empty if there is none."""
    paths = [path_of(item) for item in value] if isinstance(value, list) else []
    path = paths[0].removesuffix("[0]") if paths else ""
    return path if path and paths == [f"{path}[{index}]" for index in range(len(paths))] else ""


def _named_numbers(
    tests: tuple[ast.expr, ...], names: dict[str, Any], paths_named: PathsNamed
) -> Iterator[tuple[str, Any, str]]:
    """The variables in ``tests`` that have the name of a parameter, with their numbers and the parameters' paths."""
    for node in (node for test in tests for node in ast.walk(test) if isinstance(node, ast.Name | ast.Attribute)):
        with contextlib.suppress(Exception, Misused):
            value = value_of(node, names)
            if type(value) is int:
                owner = value_of(node.value, names) if isinstance(node, ast.Attribute) else None
                yield from ((ast.unparse(node), value, path) for path in paths_named(_name_of(node), owner))


def _numbers_in(tests: tuple[ast.expr, ...], names: dict[str, Any]) -> list[int]:
    """The integers that expressions in ``tests`` evaluate to."""
    numbers: dict[int, None] = {}
    for node in (node for test in tests for node in ast.walk(test) if isinstance(node, ast.expr)):
        try:
            value = eval(ast.unparse(node), names)
        except BaseException:  # see `invented_parts`
            continue
        if isinstance(value, int) and not isinstance(value, bool):
            numbers[int(value)] = None
    return list(numbers)


def _candidates(value: int, others: Sequence[int]) -> list[int]:
    """Numbers that may pass where ``value`` did not: starting with those derived from ``others``; 0 is last."""
    own, near = max(value, 1), [other for other in others if 0 < other <= LARGEST]
    related = (one for other in near for one in (other, other + 1, math.lcm(own, other), 2 * other))
    positive = (one for one in (*related, *_NUMBERS) if 0 < one <= LARGEST)
    return [one for one in dict.fromkeys((*positive, 0)) if one != value]


def resized(items: Any, length: int) -> list[Any]:
    """A plain list of another length."""
    plain = list.__getitem__(items, slice(None))
    return (plain * length)[:length]


class _Substitution(ast.NodeTransformer):
    """Replaces an expression with a name."""

    def __init__(self, source: str) -> None:
        self._source = source

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, PARTS) and ast.unparse(node) == self._source:
            return ast.copy_location(ast.Name(_NAME, ast.Load()), node)
        return self.generic_visit(node)


_NAME = "_fx_lsp_candidate"


def _holds(check: Check, names: dict[str, Any], part: str, value: Any) -> bool:
    """Whether the check passes with ``value`` in place of the expression ``part``."""
    try:
        results = [bool(eval(_substituted(test, part), {**names, _NAME: value})) for test in check.tests]
    except BaseException:  # see `invented_parts`
        return False
    return any(results) == check.passes


def _substituted(test: ast.expr, part: str) -> CodeType:
    tree = _Substitution(part).visit(ast.parse(ast.unparse(test), mode="eval"))
    assert isinstance(tree, ast.Expression)
    return compile(ast.fix_missing_locations(tree), "<check>", "eval")
