"""The values that the decorators of a test give its parameters: ``@pytest.mark.parametrize("width", [8, 16])``.

Those of pytest, of the package parameterized and of absl's ``parameterized`` are known. Of several cases, the first one
counts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_CASES_IN_A_LIST = frozenset({"expand"})
"""The last names of decorators that take one list of cases; each case has the parameters in their order."""

_CASES_AS_ARGUMENTS = frozenset({"parameters", "named_parameters"})
"""The last names of decorators whose arguments are the cases, or which take one list of them."""


def parametrized(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """The parameters that the decorators of ``function`` give a value, each with its value in the first case."""
    names = [argument.arg for argument in function.args.args if argument.arg not in ("self", "cls")]
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[about, cases, *_]):
                yield from _by_pytest(_names(about), first_of(cases))
            case ast.Call(func=ast.Attribute(attr=attr), args=[cases, *_]) if attr in _CASES_IN_A_LIST:
                yield from by_position(names, first_of(cases))
            case ast.Call(func=ast.Attribute(attr=attr), args=[case, *more]) if attr in _CASES_AS_ARGUMENTS:
                first = case if more or not isinstance(case, (ast.List, ast.ListComp)) else first_of(case)
                yield from by_position(names, first, named=attr == "named_parameters")


def _by_pytest(names: list[str], case: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    is_param = isinstance(case, ast.Call) and ast.unparse(case.func) in ("pytest.param", "param")
    if isinstance(case, ast.Call) and is_param:
        yield from zip(names, case.args, strict=False)
    elif len(names) == 1:
        yield names[0], case
    else:
        yield from by_position(names, case)


def by_position(names: list[str], case: ast.expr, *, named: bool = False) -> Iterator[tuple[str, ast.expr]]:
    """The ``names``, each with its value in a case.

    ``named``: the case begins with its name, or has it as ``testcase_name``.
    """
    match case:
        case ast.Tuple(elts=values) | ast.List(elts=values):
            yield from zip(names, values[1:] if named else values, strict=False)
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and key.value in names:
                    yield key.value, value
        case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
            yield from ((keyword.arg, keyword.value) for keyword in keywords if keyword.arg in names)
        case ast.Constant() if len(names) == 1 and not named:
            yield names[0], case
        case _ if len(names) > 1 and not named:
            for position, name in enumerate(names):
                yield name, _located(ast.Subscript(case, ast.Constant(position), ast.Load()), case)


def _names(about: ast.expr) -> list[str]:
    """The parameters that the first argument of ``parametrize`` names."""
    match about:
        case ast.Constant(value=str(text)):
            return [name.strip() for name in text.split(",") if name.strip()]
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return []


def first_of(cases: ast.expr) -> ast.expr:
    """The first of ``cases``; if they are not written out, an expression that takes it from them."""
    if isinstance(cases, (ast.List, ast.Tuple)) and cases.elts and not isinstance(cases.elts[0], ast.Starred):
        return cases.elts[0]
    everything = ast.List([ast.Starred(cases, ast.Load())], ast.Load())
    return _located(ast.Subscript(everything, ast.Constant(0), ast.Load()), cases)


def _located(node: ast.expr, at: ast.expr) -> ast.expr:
    return ast.fix_missing_locations(ast.copy_location(node, at))
