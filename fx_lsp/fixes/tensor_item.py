"""Read a number from a tensor with ``.item()``, or compute with the tensor itself, rather than with ``int(x)``.

``torch.export`` then continues with a symbol, or with a tensor that has no values yet.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes.editing import Fix, ReadText
from fx_lsp.fixes.editing.edited_source import Source, editable


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """Up to two fixes if the failing expression is ``int(value)``, ``float(value)`` or ``bool(value)``.

    Which of them leaves the results as they are depends on the value's dtype and on what is done with the number. A
    proof may not tell: where a number is only compared, its fraction matters to few inputs.
    """
    for source, node in editable(failure.chain[-1:], read):
        yield from _fixes(source, node, is_fraction="zuf" in failure.error)


def _fixes(source: Source, node: ast.expr, *, is_fraction: bool) -> Iterator[Fix]:
    """``is_fraction``: whether the value is not an integer, as the symbol's name in the capture's error tells."""
    match node:
        case ast.Call(func=ast.Name(id="int" | "float" | "bool" as name), args=[value], keywords=[]):
            if isinstance(value, ast.Starred):
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
