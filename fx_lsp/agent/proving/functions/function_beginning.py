"""Cuts off the end of a function that an edit changes, to run what comes before, which has the whole edit.

The end may need what nobody has, such as a package that is not installed. It is the same before and after the edit, so
it does the same if the beginning leaves it the same variables.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Mapping
from types import CellType, CodeType, FunctionType, MappingProxyType
from typing import Any, cast

from fx_lsp.agent.proving.functions.edited_function import definition_of, functions_of

READ_ALL = frozenset({"eval", "exec", "locals", "vars"})
"""Functions that may read any variable."""

PREFIX = "beginning_of_"
"""What the names of the functions that are cut off begin with."""


def unchanged_end(old: str, new: str, name: str, line: int) -> int:
    """How many of the last statements of the function ``name`` are the same in both texts, and behind ``line``."""
    before, after = (dict(functions_of(ast.parse(text).body))[name].body[::-1] for text in (old, new))
    pairs = itertools.takewhile(lambda pair: ast.dump(pair[0]) == ast.dump(pair[1]), zip(before, after, strict=False))
    return sum(1 for statement, _ in pairs if statement.lineno > line)


def beginning_of(function: Callable[..., Any], end: int) -> Any:
    """``function`` without its last ``end`` statements; it returns a dict of the variables that these mention.

    The beginning of a method is added to the class of the method's object. None if the function can't be cut off: if
    nothing would be left, if it has no `definition_of` its own, or if its end may read variables that it doesn't
    mention.
    """
    defined = definition_of(function)
    if defined is None or not 0 < end < len(defined.tree.body):
        return None
    plain, owner, definition = defined.plain, defined.owner, defined.tree
    code = plain.__code__
    mentioned = {node.id for one in definition.body[-end:] for node in ast.walk(one) if isinstance(node, ast.Name)}
    private = {name for name in mentioned if name.startswith("__")}  # variables of these names have other ones
    if private or not mentioned.isdisjoint(READ_ALL) or defined.rebinds_owner:
        return None
    # The end stays behind the return statement, so that a name that it assigns is still that of a variable.
    definition.body.insert(-end, returning(sorted(mentioned & defined.variables), definition.lineno))
    cut = compiled(definition, code.co_filename, plain)
    if cut is None or owner is None:
        return cut
    return added_to(owner, cut, f"{PREFIX}{plain.__name__}")


def added_to(owner: object, function: FunctionType, name: str) -> Any:
    """``function`` as the method ``name`` of an object, by which a tracer finds it."""
    function.__name__ = name
    setattr(type(owner), name, function)
    return getattr(owner, name)


def returning(names: list[str], line: int) -> ast.stmt:
    """A statement that returns the variables with these names in order, as far as they have values.

    It counts as part of ``line``, since nothing else in the text should count as run because of it.
    """
    text = f"return {{name: value for name, value in sorted(locals().items()) if name in {names!r}}}"
    return ast.increment_lineno(ast.parse(text), line - 1).body[0]


def compiled(
    definition: ast.FunctionDef, file: str, original: FunctionType, values: Mapping[str, Any] = MappingProxyType({})
) -> FunctionType | None:
    """A function with the names, defaults and cells of the ``original``; None if it needs other cells.

    ``values``: what further names in the ``definition`` stand for.
    """
    *_, cls, _ = ("", *original.__qualname__.split("."))
    around: ast.stmt = definition
    if cls:  # which the names of private attributes depend on, and ``super()``
        around = _with_body(f"class {cls}: pass", around)
    if values:  # which are then not looked for among the globals
        around = _with_body(f"def around({', '.join(values)}): pass", around)
    known = dict(zip(original.__code__.co_freevars, original.__closure__ or (), strict=True))
    cells = {**known, **{name: CellType(value) for name, value in values.items()}}
    code = _code_of(compile(ast.Module([around], []), file, "exec"), definition.name)
    if not cells.keys() >= {*code.co_freevars}:
        return None
    closure = tuple(cells[name] for name in code.co_freevars)
    made = FunctionType(code, original.__globals__, original.__name__, original.__defaults__, closure)
    made.__kwdefaults__ = original.__kwdefaults__
    made.__qualname__ = original.__qualname__
    made.__annotations__ = original.__annotations__
    return made


def _with_body(text: str, inner: ast.stmt) -> ast.stmt:
    """The class or function that is the ``text``, with ``inner`` as its body."""
    around: Any = ast.parse(text).body[0]
    around.body = [inner]
    return cast("ast.stmt", around)


def _code_of(module: CodeType, name: str) -> CodeType:
    """The code of the function ``name``, which a module, or the only class or function in it, defines."""
    inner = [constant for constant in module.co_consts if isinstance(constant, CodeType)]
    return next((code for code in inner if code.co_name == name), None) or _code_of(inner[0], name)
