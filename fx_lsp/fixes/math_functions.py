"""Compute a number with Python's ``math`` instead of NumPy: for ``torch.compile``, what NumPy returns is a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression
from fx_lsp.fixes.editing.import_edits import imported

_ROUND = frozenset({"ceil", "floor"})
"""Functions that return an int in ``math``, and a float in NumPy."""

_SAME = _ROUND | {"cos", "cosh", "exp", "expm1", "log", "log10", "log1p", "log2", "prod", "sin", "sqrt", "tan", "tanh"}
"""Functions that ``math`` and NumPy have under one name."""


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the failing expression, or what it is a part of, calls functions of NumPy that ``math`` has, too.

    Whether they get numbers, and no arrays, the text does not tell: for an array, the edited program raises an error.
    """
    math = imported(source, "math")
    found = None
    for part in (node, *source.around(node)):
        if isinstance(part, ast.stmt):
            break
        if isinstance(part, ast.expr) and (text := _number(source, part, math.name)) is not None:
            found = source.replaced(part, text)
    if found is not None:
        yield Fix("Compute the number with math instead of NumPy", (*math.changes, found))


def _number(source: Source, node: ast.expr, math: str, *, as_int: bool = False) -> str | None:
    """The text that computes with ``math`` what ``node`` computes with NumPy; None if that can't be done.

    ``as_int``: the result is converted to an int.
    """
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="item"), args=[], keywords=[]):
            return _number(source, value, math, as_int=as_int)
        case ast.Call(func=ast.Attribute(value=value, attr="astype"), args=[kind], keywords=[]) if _is_int(
            source, kind
        ):
            return _as_int(source, value, math)
        case ast.Call(func=ast.Name(id="int"), args=[value], keywords=[]):
            return _as_int(source, value, math)
        case ast.Call(func=function, args=[value], keywords=[]):
            module, _, name = (source.names.qualified(function) or "").rpartition(".")
            if module == "numpy" and name in _SAME:
                inner = _number(source, value, math) or source.slice(value)
                call = f"{math}.{name}({inner})"
                return f"float({call})" if name in _ROUND and not as_int else call
    return None


def _as_int(source: Source, value: ast.expr, math: str) -> str | None:
    """The text for ``value`` as an int, which ``math.ceil`` and ``math.floor`` return anyway."""
    text = _number(source, value, math, as_int=True)
    is_int = text is not None and text.startswith(tuple(f"{math}.{name}(" for name in _ROUND))
    return text if text is None or is_int else f"int({text})"


def _is_int(source: Source, kind: ast.expr) -> bool:
    """Whether ``kind`` is the dtype of an int, as ``astype`` takes it."""
    match kind:
        case ast.Constant(value=value):
            return value in ("int", "int32", "int64")
    name = source.names.qualified(kind) or ast.unparse(kind)
    return name in ("int", "numpy.int32", "numpy.int64", "numpy.int_")
