"""Pass sizes as one tuple instead of as separate arguments, and write a tuple instead of a ``torch.Size``.

C++ code accepts traced values in a tuple of sizes, but only plain integers as separate arguments or in a `torch.Size`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression, tuple_text

FUNCTIONS = frozenset({"torch.zeros", "torch.ones", "torch.empty", "torch.rand", "torch.randn"})
"""Functions whose positional arguments are sizes, or one tuple of them."""

METHODS = frozenset(
    {"expand", "view", "reshape", "repeat", "tile", "permute", "flip", "new_zeros", "new_ones", "new_empty"}
)
"""Methods of tensors whose positional arguments are sizes or dimensions, or one tuple of them."""


def takes_sizes(source: Source, call: ast.Call) -> bool:
    """Whether ``call`` accepts one tuple instead of all its positional arguments."""
    if source.names.qualified(call.func) in FUNCTIONS:
        return True
    is_method = isinstance(call.func, ast.Attribute) and call.func.attr in METHODS
    owner = call.func
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    is_of_module = isinstance(owner, ast.Name) and owner.id in source.names.imported
    return is_method and not is_of_module


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the failing expression is a call with its sizes as separate arguments, or makes a ``torch.Size``."""
    match node:
        case ast.Call(func=function, args=[ast.List(elts=sizes) | ast.Tuple(elts=sizes)], keywords=[]):
            is_listed = not any(isinstance(size, ast.Starred) for size in sizes)
            if is_listed and source.names.qualified(function) == "torch.Size":
                text = tuple_text([source.slice(size) for size in sizes])
                yield Fix("Write a tuple instead of a torch.Size", (source.replaced(node, text),))
        case ast.Call(args=[first, _, *_] as sizes) if takes_sizes(source, node):
            if not any(isinstance(size, ast.Starred) for size in sizes):
                yield Fix("Pass the sizes as a tuple", (source.before(first, "("), source.behind(sizes[-1], ")")))
