"""Building a target: running its recipe in the namespace of the imported file, without allocating its weights."""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass
from types import CodeType
from typing import Any, Literal

from .devices import Devices
from .messages import Recipe, Snippet

SEED = 0
"""What random numbers start from, before the import and before each build and trace: a module that draws its
structure is the same one every time."""


@dataclass(frozen=True)
class Built:
    """What a recipe yields."""

    root: Any
    concrete_args: Any
    tracer: Any


def build(recipe: Recipe, file: str, namespace: dict[str, Any], *, on_meta: bool) -> Built:
    """Run the recipe in the file's own namespace, which the functions that it defines share.

    Raises what the code of the user raises; the frames of a snippet are those of the file.
    """
    with Devices(on_meta=on_meta):
        for snippet in recipe.setup:
            exec(_compile(snippet, file, "exec"), namespace)
        return Built(
            root=_value(recipe.root, file, namespace),
            concrete_args=_value(recipe.concrete_args, file, namespace),
            tracer=_value(recipe.tracer, file, namespace),
        )


def _value(snippet: Snippet | None, file: str, namespace: dict[str, Any]) -> Any:
    return None if snippet is None else eval(_compile(snippet, file, "eval"), namespace)


def _compile(snippet: Snippet, file: str, mode: Literal["exec", "eval"]) -> CodeType:
    """Code whose lines and columns are those that the snippet has in the file."""
    tree: ast.Module | ast.Expression = ast.parse(snippet.source, file, mode)  # type: ignore[assignment]
    column = _column(snippet.source.split("\n")[0], linecache.getline(file, snippet.line))
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt | ast.keyword | ast.arg | ast.alias):
            if node.lineno == 1:
                node.col_offset = max(node.col_offset + column, 0)
            if node.end_lineno == 1 and node.end_col_offset is not None:
                node.end_col_offset = max(node.end_col_offset + column, 0)
    ast.increment_lineno(tree, snippet.line - 1)
    return compile(tree, file, mode)


def _column(source: str, line: str) -> int:
    """The column where ``source`` stands in ``line``; where only its brackets do, the one that puts these right."""
    name = "" if source in line else source.partition("(")[0]
    at = line.find(source.removeprefix(name))
    return len(line[:at].encode()) - len(name.encode()) if at >= 0 else 0
