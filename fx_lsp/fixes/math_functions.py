"""Compute a number with Python's ``math`` instead of NumPy.

Symbolic tracing records ``math`` but not NumPy; for ``torch.compile``, what NumPy returns is a tensor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression
from fx_lsp.fixes.editing.expression_values import Values
from fx_lsp.fixes.editing.import_edits import imported

_ROUND = frozenset({"ceil", "floor"})
"""Functions that return an int in ``math``, and a float in NumPy."""

_SAME = _ROUND | {"cos", "cosh", "exp", "expm1", "log", "log10", "log1p", "log2", "sin", "sqrt", "tan", "tanh"}
"""Functions that ``math`` and NumPy have under one name."""


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the failing expression, or what it is a part of, calls functions of NumPy that ``math`` has, too.

    The text does not show whether they get numbers or arrays; with arrays, the edited program does not run.
    """
    math = imported(source, "math")
    found = None
    for part in (node, *source.around(node)):
        if not isinstance(part, ast.expr):
            break
        text = _Numbers(source, math.name).text(part)
        if text is not None:
            found = source.replaced(part, text)
        elif found is not None and not isinstance(part, (ast.Attribute, ast.BinOp)):
            break
    if found is not None:
        yield Fix("Compute the number with math instead of NumPy", (*math.changes, found))


class _Numbers:
    """Writes what a file computes with NumPy so that it is computed with ``math``."""

    def __init__(self, source: Source, math: str) -> None:
        self._source = source
        self._math = math

    def text(self, node: ast.expr, *, as_int: bool = False) -> str | None:
        """The text for ``node``; None if there is nothing to change. ``as_int``: the result is converted to an int."""
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="item"), args=[], keywords=[]):
                return self.text(value, as_int=as_int)
            case ast.Call(func=ast.Attribute(value=value, attr="astype"), args=[kind], keywords=[]):
                return self._as_int(value) if _is_int(self._source, kind) else None
            case ast.Call(func=ast.Name(id="int"), args=[value], keywords=[]):
                return self._as_int(value)
            case ast.Call(func=function, args=[value], keywords=[]):
                module, _, name = (self._source.names.qualified(function) or "").rpartition(".")
                if module == "numpy" and name == "prod" and Values(self._source).is_shape(value):
                    return f"{self._math}.prod({self._source.slice(value)})"  # an int
                if module == "numpy" and name in _SAME:
                    call = f"{self._math}.{name}({self._argument(value)})"
                    return f"float({call})" if name in _ROUND and not as_int else call
        return None

    def _argument(self, value: ast.expr) -> str:
        """The text of an argument, in which the operands of operations are changed, too."""
        if (changed := self.text(value)) is not None:
            return changed
        match value:
            case ast.BinOp(left=left, op=op, right=right):
                between = self._source.text[self._source.offsets(left)[1] : self._source.offsets(right)[0]]
                is_plain = between.strip() == _SIGNS.get(type(op))
                return (
                    f"{self._argument(left)}{between}{self._argument(right)}" if is_plain else self._source.slice(value)
                )
        return self._source.slice(value)

    def _as_int(self, value: ast.expr) -> str | None:
        """The text for ``value`` as an int, which some functions of ``math`` return anyway."""
        text = self.text(value, as_int=True)
        is_int = text is not None and text.startswith(tuple(f"{self._math}.{name}(" for name in (*_ROUND, "prod")))
        return text if text is None or is_int else f"int({text})"


_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**"}


def _is_int(source: Source, kind: ast.expr) -> bool:
    """Whether ``kind`` is the dtype of an int, as ``astype`` takes it."""
    match kind:
        case ast.Constant(value=value):
            return value in ("int", "int32", "int64")
    name = source.names.qualified(kind) or ast.unparse(kind)
    return name in ("int", "numpy.int32", "numpy.int64", "numpy.int_")
