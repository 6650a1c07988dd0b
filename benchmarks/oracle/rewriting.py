"""Rewriting libraries when they are imported, so that their calls and subscripts go by `calls`."""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
from types import CodeType
from typing import Any

from benchmarks.oracle import calls

_NEED_THEIR_FRAME = ("super", "locals", "vars", "dir", "globals", "eval", "exec", "type")


_NOT_MODELS = (
    "configuration",
    "generation",
    "processing",
    "quantiz",
    "tokenization",
    "data.",
    "datasets",
    "fp8",
    "hub",
)
"""Parts of the names of modules whose code no forward runs, and that take long to rewrite."""


class _Rewrite(ast.NodeTransformer):
    """Has each call and subscript in a function made by `calls.called` and `calls.item`; places stay as they are."""

    depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.depth += 1
        node.body = [self.visit(statement) for statement in node.body]
        self.depth -= 1
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.depth += 1
        node.body = self.visit(node.body)
        self.depth -= 1
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = self.visit(node.value) if node.value else None
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not self.depth or (isinstance(node.func, ast.Name) and node.func.id in _NEED_THEIR_FRAME):
            return node
        function = ast.copy_location(ast.Name("__oracle_called__", ast.Load()), node)
        return ast.copy_location(ast.Call(function, [node.func, *node.args], node.keywords), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not self.depth or not isinstance(node.ctx, ast.Load):
            return node
        function = ast.copy_location(ast.Name("__oracle_item__", ast.Load()), node)
        return ast.copy_location(ast.Call(function, [node.value, _slices(node.slice)], []), node)


def _slices(key: ast.expr) -> ast.expr:
    """A subscript's key as an expression that may stand anywhere."""
    if isinstance(key, ast.Tuple):
        key.elts = [_slices(part) for part in key.elts]
    if not isinstance(key, ast.Slice):
        return key
    bounds = [bound or ast.copy_location(ast.Constant(None), key) for bound in (key.lower, key.upper, key.step)]
    function = ast.copy_location(ast.Name("__oracle_slice__", ast.Load()), key)
    return ast.copy_location(ast.Call(function, bounds, []), key)


def rewrite_imports(packages: tuple[str, ...]) -> None:
    """From here on have the calls and subscripts of these packages, once they are imported, go by this module."""
    builtins.__oracle_called__ = calls.called  # type: ignore[attr-defined]
    builtins.__oracle_item__ = calls.item  # type: ignore[attr-defined]
    builtins.__oracle_slice__ = slice  # type: ignore[attr-defined]
    loader: Any = importlib.machinery.SourceFileLoader
    get_code = loader.get_code

    def rewritten(self: Any, name: str) -> CodeType | None:
        if name.partition(".")[0] not in packages or any(part in name for part in _NOT_MODELS):
            return get_code(self, name)  # type: ignore[no-any-return]
        path = self.get_filename(name)
        tree = _Rewrite().visit(ast.parse(self.get_data(path), path))
        return compile(tree, path, "exec", dont_inherit=True)

    loader.get_code = rewritten
