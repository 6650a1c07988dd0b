"""Sizes that are handed over one by one, as a tuple.

C++ code looks for traced values in a tuple of sizes; where they come one by one it wants plain integers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes import Fix, ReadText
from fx_lsp.fixes.source import Source, failing

FUNCTIONS = frozenset({"torch.zeros", "torch.ones", "torch.empty", "torch.rand", "torch.randn"})
"""Functions whose positional arguments are sizes, or one tuple of them."""

METHODS = frozenset(
    {"expand", "view", "reshape", "repeat", "tile", "permute", "flip", "new_zeros", "new_ones", "new_empty"}
)
"""Methods of tensors whose positional arguments are sizes or dimensions, or one tuple of them."""


def takes_sizes(source: Source, call: ast.Call) -> bool:
    """Whether all positional arguments of ``call`` can as well be one tuple."""
    if source.names.qualified(call.func) in FUNCTIONS:
        return True
    return isinstance(call.func, ast.Attribute) and call.func.attr in METHODS


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix where a call that takes sizes one by one failed."""
    found = failing(failure, read)
    if found is None:
        return
    source, node = found
    match node:
        case ast.Call(args=[first, _, *_] as sizes) if takes_sizes(source, node):
            if not any(isinstance(size, ast.Starred) for size in sizes):
                yield Fix("Pass the sizes as a tuple", (source.before(first, "("), source.behind(sizes[-1], ")")))
