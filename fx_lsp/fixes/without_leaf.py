"""Don't change whether a tensor in ``forward`` needs a gradient, which ``torch.compile`` can't follow.

A tensor that ``forward`` itself makes, such as the first state of an RNN, needs no gradient: nobody reads it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression

_VARIABLES = frozenset({"torch.autograd.Variable", "torch.autograd.variable.Variable"})

_MAKE = frozenset({"empty", "full", "normal", "ones", "rand", "randn", "tensor", "zeros"})
"""The functions of torch that make a tensor of nothing but numbers."""

_READ = frozenset({"backward", "grad", "register_hook", "retain_grad"})
"""The names by which a program reads the gradient of a tensor."""


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix for ``torch.zeros(n).requires_grad_()`` or a ``Variable`` of it, or for ``x.requires_grad = False``.

    None if the function seems to read gradients, or if an object keeps the tensor, whose gradient others may read.
    """
    if _reads_gradients(source, node) or _is_kept(source, node):
        return
    match node, source.statement(node):
        case ast.Attribute(value=ast.Name(id=name), attr="requires_grad"), ast.Assign(
            targets=[target], value=ast.Constant(value=False)
        ) as statement if target is node and not _is_given(source, node, name):
            yield Fix("Detach the tensor instead", (source.replaced(statement, f"{name} = {name}.detach()"),))
        case ast.Call(func=ast.Attribute(value=value, attr="requires_grad_")), _ if _is_made(source, value):
            yield Fix("Leave out `requires_grad_`", (source.replaced(node, source.slice(value)),))
        case ast.Call(func=function, args=[value], keywords=[ast.keyword(value=ast.Constant(value=True))]), _:
            if source.names.qualified(function) in _VARIABLES and _is_made(source, value):
                yield Fix("Leave out `Variable`", (source.replaced(node, source.slice(value)),))


def _is_kept(source: Source, node: ast.expr) -> bool:
    match source.statement(node):
        case ast.Assign(targets=targets):
            return any(isinstance(one, ast.Attribute | ast.Subscript) and one is not node for one in targets)
    return False


def _is_given(source: Source, node: ast.expr, name: str) -> bool:
    """Whether a name is a parameter: the caller would notice that its tensor is not changed."""
    return any(
        isinstance(part, ast.arg) and part.arg == name for part in ast.walk(source.function(node) or source.tree)
    )


def _is_made(source: Source, value: ast.expr) -> bool:
    """Whether ``value`` is a new tensor, which no other gradient depends on."""
    match value:
        case ast.Call(func=ast.Attribute(value=made, attr="cuda" | "to" | "type_as" | "double" | "float" | "half")):
            return _is_made(source, made)
        case ast.Call(func=ast.Attribute(attr=name)) if name.startswith("new_"):
            return True
        case ast.Call(func=function):
            module, _, name = (source.names.qualified(function) or "").rpartition(".")
            return module == "torch" and name.removesuffix("_like") in _MAKE
    return False


def _reads_gradients(source: Source, node: ast.expr) -> bool:
    within = source.enclosing_class(node) or source.tree
    return any(isinstance(part, ast.Attribute) and part.attr in _READ for part in ast.walk(within))
