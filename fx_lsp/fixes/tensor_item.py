"""Read a number from a tensor with ``.item()``, or compute with the tensor itself, rather than with ``int(x)``.

``torch.export`` then continues with a symbol, or with a tensor that has no values yet.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes.editing import Fix, ReadText
from fx_lsp.fixes.editing.edited_source import Source, editable
from fx_lsp.fixes.editing.expression_values import Values

_FRACTION = re.compile(r"zuf|Trunc|ToFloat|TrueDiv|\d\.\d")
"""In the first line of a capture's error: the number is not an integer, or was computed from one that is not."""


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One or two fixes if the failing expression is ``int(value)``, ``float(value)`` or ``bool(value)``.

    Which of them leaves the results as they are depends on the value's dtype and on what is done with the number. A
    proof may not notice: where a number is only compared, its fraction matters to few inputs.
    """
    for source, node in editable(failure.chain[-1:], read):
        first, _, _ = failure.error.partition("\n")
        yield from _fixes(source, node, is_fraction=_FRACTION.search(first) is not None)


def _fixes(source: Source, node: ast.expr, *, is_fraction: bool) -> Iterator[Fix]:
    """``is_fraction``: whether the value may not be an integer."""
    match node:
        case ast.Call(func=ast.Name(id="int" | "float" | "bool" as name), args=[value], keywords=[]):
            if isinstance(value, ast.Starred):
                return
            if name == "int" and not is_fraction and _tensor(value) is value and Values(source).is_number(value):
                yield Fix("Leave out int", (source.with_operation(node, source.slice(value)),))
                return
            operand = source.operand(_tensor(value))
            if not (name == "int" and is_fraction):
                yield Fix("Read the number with .item()", (source.replaced(node, f"{operand}.item()"),))
            tensor = operand + _SAME_VALUE[name]
            yield Fix(f"Compute with the tensor instead of {name}", (source.replaced(node, tensor),))


_SAME_VALUE = {"int": ".long()", "float": ".detach()", "bool": ""}
"""What makes of a tensor one that is like the number: no gradient flows through it."""


def _tensor(value: ast.expr) -> ast.expr:
    """The tensor that ``value`` is, or whose ``.item()`` it is."""
    match value:
        case ast.Call(func=ast.Attribute(value=tensor, attr="item"), args=[], keywords=[]):
            return tensor
    return value
