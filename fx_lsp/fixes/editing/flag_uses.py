"""How the functions on the way to a failure use a flag, a parameter of the traced function."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence, Set

from fx_lsp.agent.messages import Step
from fx_lsp.fixes.editing import ReadText
from fx_lsp.fixes.editing.edited_source import editable


def names_at_failure(flag: str, chain: Sequence[Step], read: ReadText) -> set[str]:
    """The names that the failing expression has for what is made of a flag; empty if a call does not pass it on."""
    names = {flag}
    steps = [next(editable([step], read), None) for step in chain]
    for step, further in zip(steps, [*steps[1:], None], strict=True):
        if step is None or not _mentions(step[1], names):
            return set()
        if further is not None:
            function = further[0].function(further[1])
            names = _parameters_made_of(names, step[1], function) if function else set()
    return names


def decides_on_way(flag: str, chain: Sequence[Step], read: ReadText) -> bool:
    """Whether a function on the way to the failure may decide anything by a flag.

    It certainly does not if each function only passes on what is made of the flag, to variables and to the next call.
    Then the program gets to the failure whatever the flag is.
    """
    passed = {flag}
    steps = [next(editable([step], read), None) for step in chain]
    for step, further in zip(steps, [*steps[1:], None], strict=True):
        function = step[0].function(step[1]) if step else None
        if step is None or function is None:
            return True
        names, is_passed_on_only = _passed_on(passed, function, step[1], is_last=further is None)
        if not is_passed_on_only:
            return True
        called = further[0].function(further[1]) if further else None
        if further is not None:
            given = _all_made_of(names, step[1], called) if called else None
            if given is None:
                return True
            if not given:
                return False
            passed = given
    return False


def _passed_on(
    names: Set[str], function: ast.FunctionDef | ast.AsyncFunctionDef, step: ast.expr, *, is_last: bool
) -> tuple[set[str], bool]:
    """``names`` with the variables that are made of them before a step, and whether the function only passes them on.

    It does so in assignments to variables, and in the arguments of the step unless that is the failure itself. What it
    does on the other side of an ``if`` does not matter.
    """
    around = {id(inner): outer for outer in ast.walk(function) for inner in ast.iter_child_nodes(outer)}
    outwards = [*_outwards(step, around)]
    expressions = [step, *(one for one in outwards if isinstance(one, ast.expr))]
    loops = [one for one in outwards if isinstance(one, ast.For | ast.AsyncFor | ast.While)]
    end = max(one.end_lineno or 0 for one in (*expressions, *loops))
    skipped = list(_other_sides(step, outwards))
    without = {*map(id, outwards), *(id(inner) for part in skipped for inner in ast.walk(part))}
    assignments = [
        one
        for one in ast.walk(function)
        if isinstance(one, ast.Assign | ast.AnnAssign | ast.AugAssign)
        and id(one) not in without
        and all(isinstance(part, _OF_VARIABLES) for target in _targets(one) for part in ast.walk(target))
        and not any(isinstance(outer, ast.Try) for outer in _outwards(one, around))
    ]
    found = set(names)
    for one in sorted(assignments, key=lambda one: one.lineno):
        if one.value is not None and (one.end_lineno or 0) < step.lineno and _mentions(one.value, found):
            found |= {part.id for target in _targets(one) for part in ast.walk(target) if isinstance(part, ast.Name)}
    passing: list[ast.AST] = [function.args, *skipped, *assignments]
    if isinstance(step, ast.Call) and not is_last:
        passing += [*step.args, *step.keywords]
    harmless = {id(inner) for part in passing for inner in ast.walk(part)}
    mentions = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id in found]
    return found, all(id(node) in harmless for node in mentions if node.lineno <= end)


def _other_sides(step: ast.expr, outwards: Sequence[ast.AST]) -> Iterator[ast.stmt]:
    """The statements on the other side of each ``if`` on one side of which a step is; ``outwards`` is around it."""
    for inner, outer in itertools.pairwise((step, *outwards)):
        if isinstance(outer, ast.If) and inner is not outer.test:
            yield from outer.body if inner in outer.orelse else outer.orelse


_OF_VARIABLES = ast.Name | ast.Tuple | ast.List | ast.Starred | ast.expr_context


def _targets(assignment: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Sequence[ast.expr]:
    return assignment.targets if isinstance(assignment, ast.Assign) else [assignment.target]


def _outwards(node: ast.AST, around: Mapping[int, ast.AST]) -> Iterator[ast.AST]:
    """What contains a node, from the inside out; ``around`` has what contains each node directly, by its ``id``."""
    while (outer := around.get(id(node))) is not None:
        yield (node := outer)


def _all_made_of(names: Set[str], call: ast.expr, function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str] | None:
    """The parameters of a function that a call gives something made of ``names``; None if that is not clear."""
    if not isinstance(call, ast.Call) or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    own = {one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    found = {parameter for parameter, value in _given(call, function) if _mentions(value, names)}
    return {parameter for parameter in found if parameter is not None} if found <= own else None


def _given(call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str | None, ast.expr]]:
    """The arguments of a call of a function, each with its parameter; None for those without one, or unpacked."""
    parameters = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    is_bound = parameters[:1] == ["self"] and not (call.args and _is_name(call.args[0], "self"))
    own = parameters[1:] if is_bound else parameters
    yield from itertools.zip_longest(own[: len(call.args)], call.args)
    yield from ((one.arg, one.value) for one in call.keywords)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _mentions(node: ast.AST, names: Set[str]) -> bool:
    return any(isinstance(inner, ast.Name) and inner.id in names for inner in ast.walk(node))


def uses_as_objects(expression: ast.expr, names: Set[str]) -> bool:
    """Whether an expression uses one of the ``names``, and reads nothing but their attributes or items."""
    used = [
        node.value
        for node in ast.walk(expression)
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.value, ast.Name)
    ]
    found = [node for node in ast.walk(expression) if isinstance(node, ast.Name) and node.id in names]
    return bool(found) and all(any(node is other for other in used) for node in found)


def _parameters_made_of(names: Set[str], call: ast.expr, function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The parameters of a function that a call certainly gives something made of ``names``."""
    given = _given(call, function) if isinstance(call, ast.Call) else ()
    return {parameter for parameter, value in given if parameter and _mentions(value, names)}
