"""Determines from the source whether a tensor contains integers or booleans, which have no gradients."""

from __future__ import annotations

import ast
import re

_MAKE_INTEGERS = frozenset(
    {"all", "any", "arange", "argmax", "argmin", "argsort", "bincount", "bool", "count_nonzero", "int", "isfinite"}
    | {"isinf", "isnan", "logical_and", "logical_not", "logical_or", "long", "multinomial", "ne", "nonzero", "randint"}
    | {"randperm", "searchsorted"}
)
"""Functions and methods that return tensors of integers or booleans."""

_WITH_INDICES = frozenset({"cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "sort", "topk"})
"""Functions and methods that return values and indices."""

_KEEP_TYPE = frozenset(
    {"clone", "contiguous", "cpu", "cuda", "detach", "expand", "flatten", "flip", "permute", "repeat", "reshape"}
    | {"squeeze", "t", "transpose", "unsqueeze", "view"}
)
"""Methods whose results have the type of the tensor."""

_USUAL_NAMES = re.compile(r"(^|_)(classes|id|ids|idx|index|indices|labels?|lengths?|lens|masks?|tokens?)$")


def makes_integers(value: ast.expr, at: int | None = None) -> bool:
    """Whether ``value`` is a comparison, or a call of a function that returns integers or booleans.

    ``at``: the index of the only result that counts, if ``value`` is assigned to several targets.
    """
    match value:
        case ast.Compare() | ast.UnaryOp(op=ast.Not() | ast.Invert()):
            return at is None
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _MAKE_INTEGERS if at is None else name in _WITH_INDICES and at == 1
    return False


def integer_part(value: ast.expr) -> ast.expr:
    """What decides whether ``value`` contains integers: ``order`` for ``order[1:].flip(0)``."""
    match value:
        case ast.Subscript(value=inner):
            return integer_part(inner)
        case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in _KEEP_TYPE:
            return integer_part(inner)
    return value


def is_named_like_integers(name: str) -> bool:
    """Whether tensors with this name usually contain integers."""
    return bool(_USUAL_NAMES.search(name))
