"""Register a fake implementation for a custom operator: its result is like its first tensor, or what its body computes.

A body that only calls torch can run on fake tensors, too. If other operators of the file lack a fake implementation as
well, one edit registers all of them, since torch.compile may report only the first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix, TextChange
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression
from fx_lsp.fixes.editing.import_edits import imported

_NEEDS_VALUES = frozenset({"cpu", "cuda", "data_ptr", "item", "nonzero", "numpy", "tolist"})
"""Names of methods by which a body needs more than the shape of a tensor, or a device."""


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """Up to three fixes if the failing expression calls an operator that the file defines with ``custom_op``."""
    lacking = [item for item in source.tree.body if isinstance(item, ast.FunctionDef) and _lacks_fake(source, item)]
    called = [item for item in lacking if isinstance(node, ast.Call) and ast.unparse(node.func) == item.name]
    for definition in called[:1]:
        tensor = next((one.arg for one in definition.args.args if _is_tensor(source, one.annotation)), None)
        torch = imported(source, "torch")
        if tensor is not None and _is_tensor(source, definition.returns):
            change = _fake(source, definition, f"    return {torch.name}.empty_like({tensor})")
            title = f"Register a fake implementation that returns a tensor like {tensor}"
            yield Fix(title, (*torch.changes, change))
        if (own := _own_body(source, definition)) is not None:
            yield Fix("Register its body as its fake implementation", (own,))
        changes = [_own_body(source, item) for item in lacking]
        known = tuple(change for change in changes if change is not None)
        if len(known) == len(lacking) > 1:
            names = ", ".join(item.name for item in lacking)
            yield Fix(f"Register the bodies of {names} as their fake implementations", known)


def _fake(source: Source, definition: ast.FunctionDef, body: str) -> TextChange:
    name = source.unused(f"{definition.name}_fake")
    head = f"@{definition.name}.register_fake\ndef {name}({ast.unparse(definition.args)}):"
    return source.below_definition(definition, f"{head}\n{body}")


def _own_body(source: Source, definition: ast.FunctionDef) -> TextChange | None:
    """The change that registers what an operator does as its fake implementation; None if it needs values."""
    body = definition.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # the docstring
    names = {node.attr for item in body for node in ast.walk(item) if isinstance(node, ast.Attribute)}
    if not body or source.indent(body[0]).strip() or names & _NEEDS_VALUES or not _calls_only_torch(source, body):
        return None
    start, end = source.offsets(body[0])[0], source.offsets(body[-1])[1]
    return _fake(source, definition, source.indent(body[0]) + source.text[start:end])


def _calls_only_torch(source: Source, body: list[ast.stmt]) -> bool:
    """Whether all functions that a body calls are torch's, Python's, or methods."""
    calls = [node.func for item in body for node in ast.walk(item) if isinstance(node, ast.Call)]
    return all(_is_of_torch(source, function) for function in calls)


def _is_of_torch(source: Source, function: ast.expr) -> bool:
    root = function
    while isinstance(root, (ast.Attribute, ast.Subscript, ast.Call)):
        root = root.func if isinstance(root, ast.Call) else root.value
    if isinstance(root, ast.Name) and root.id in source.names.imported:
        return (source.names.qualified(root) or "").partition(".")[0] == "torch"
    return isinstance(function, ast.Attribute) or ast.unparse(function) in _OF_PYTHON


_OF_PYTHON = frozenset({"enumerate", "len", "list", "max", "min", "range", "reversed", "tuple", "zip"})


def _lacks_fake(source: Source, definition: ast.FunctionDef) -> bool:
    """Whether a function is a custom operator for which the file registers no fake implementation."""
    functions = [item.func for item in definition.decorator_list if isinstance(item, ast.Call)]
    if "torch.library.custom_op" not in map(source.names.qualified, functions):
        return False
    registered = (node for node in ast.walk(source.tree) if isinstance(node, ast.Attribute))
    return not any(node.attr == "register_fake" and ast.unparse(node.value) == definition.name for node in registered)


def _is_tensor(source: Source, annotation: ast.expr | None) -> bool:
    return annotation is not None and source.names.qualified(annotation) == "torch.Tensor"
