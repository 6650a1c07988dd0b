"""How the functions on the way to a failure use a flag, a parameter of the traced function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set

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
            names = {*_parameters_made_of(names, step[1], function)} if function else set()
    return names


def decides_on_way(flag: str, chain: Sequence[Step], read: ReadText) -> bool:
    """Whether a function on the way to the failure decides anything by what is made of a flag, as far as is known.

    Otherwise the program gets to the failure whatever the flag is.
    """
    passed = {flag}
    steps = [next(editable([step], read), None) for step in chain]
    for step, further in zip(steps, [*steps[1:], None], strict=True):
        function = step[0].function(step[1]) if step else None
        if step is None or function is None or (names := _made_of(passed, function, step[1].lineno)) is None:
            return True
        if any(_mentions(test, names) for test in _tests(function) if test.lineno <= step[1].lineno):
            return True
        if further is not None:
            called = further[0].function(further[1])
            if called is None or any(_mentions(value, names) for value in _unpacked(step[1])):
                return True
            passed = {*_parameters_made_of(names, step[1], called)}
            if not passed:
                return False
    return False


def _made_of(names: Set[str], function: ast.FunctionDef | ast.AsyncFunctionDef, before: int) -> set[str] | None:
    """``names``, and the variables of a function that are made of them before a line; None if objects are, too."""
    found, count = set(names), -1
    while len(found) > count:
        count = len(found)
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=targets, value=value):
                    pass
                case ast.AnnAssign(target=one, value=value) | ast.AugAssign(target=one, value=value):
                    targets = [one]
                case ast.NamedExpr(target=one, value=value) | ast.For(target=one, iter=value):
                    targets = [one]
                case _:
                    continue
            if value is not None and (value.end_lineno or 0) < before and _mentions(value, found):
                parts = [part for target in targets for part in ast.walk(target)]
                if any(isinstance(part, ast.Attribute | ast.Subscript) for part in parts):
                    return None
                found |= {part.id for part in parts if isinstance(part, ast.Name)}
    return found


def _tests(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    """What a function decides by."""
    for node in ast.walk(function):
        match node:
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Match(subject=test):
                yield test
            case ast.BoolOp(values=values):
                yield from values
            case ast.comprehension(ifs=ifs):
                yield from ifs


def _unpacked(call: ast.expr) -> Iterator[ast.expr]:
    """The arguments of a call that it unpacks."""
    if isinstance(call, ast.Call):
        yield from (argument for argument in call.args if isinstance(argument, ast.Starred))
        yield from (keyword.value for keyword in call.keywords if keyword.arg is None)


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


def _parameters_made_of(
    names: set[str], call: ast.expr, function: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[str]:
    """The parameters of a function that a call gives something made of ``names``."""
    if not isinstance(call, ast.Call):
        return
    parameters = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    own = parameters[1:] if parameters[:1] == ["self"] else parameters
    given = [*zip(own, call.args, strict=False), *((one.arg, one.value) for one in call.keywords)]
    for parameter, value in given:
        if parameter and _mentions(value, names):
            yield parameter
