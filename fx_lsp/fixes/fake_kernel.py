"""Register a fake implementation for a custom operator whose result is like its first tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression
from fx_lsp.fixes.editing.import_edits import imported


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the failing expression calls an operator that the file defines with ``torch.library.custom_op``."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            pass
        case _:
            return
    for definition in source.tree.body:
        if isinstance(definition, ast.FunctionDef) and definition.name == name and _is_operator(source, definition):
            parameters = ast.unparse(definition.args)
            tensor = next((one.arg for one in definition.args.args if _is_tensor(source, one.annotation)), None)
            if tensor is None or not _is_tensor(source, definition.returns):
                return
            torch = imported(source, "torch")
            fake = source.unused(f"{name}_fake")
            text = f"@{name}.register_fake\ndef {fake}({parameters}):\n    return {torch.name}.empty_like({tensor})"
            title = f"Register a fake implementation that returns a tensor like {tensor}"
            yield Fix(title, (*torch.changes, source.below_definition(definition, text)))


def _is_operator(source: Source, definition: ast.FunctionDef) -> bool:
    functions = [item.func for item in definition.decorator_list if isinstance(item, ast.Call)]
    return "torch.library.custom_op" in map(source.names.qualified, functions)


def _is_tensor(source: Source, annotation: ast.expr | None) -> bool:
    return annotation is not None and source.names.qualified(annotation) == "torch.Tensor"
