"""Rewrites a program's files when they are imported, so that a capture goes on where it failed."""

from __future__ import annotations

import ast
import importlib.machinery
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from benchmarks.capture_oracle import answers
from benchmarks.oracle.places import Place

_CONDITIONS = (ast.If, ast.While, ast.IfExp, ast.Assert)
_REMOVABLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.Assert, ast.Expr, ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Mend:
    """One expression or statement that is mended."""

    place: Place
    is_output: bool = False
    """Whether it returns something that torch refuses."""
    values: tuple[Any, ...] | None = None
    """What it yields, as `answers` records it; None if that is to be recorded."""
    is_forced: bool = False
    """Whether these values are not those of the real run."""


def rewrite_files(mends: Sequence[Mend]) -> None:
    """From here on, have the files of ``mends`` mended, or what they yield recorded, when they are imported."""
    by_file: dict[str, list[tuple[int, Mend]]] = {}
    for number, mend in enumerate(mends):
        by_file.setdefault(mend.place[0], []).append((number, mend))
    loader: Any = importlib.machinery.SourceFileLoader
    get_code, exec_module = loader.get_code, loader.exec_module

    def rewritten(self: Any, name: str) -> CodeType | None:
        path = self.get_filename(name)
        if path not in by_file:
            return get_code(self, name)  # type: ignore[no-any-return]
        tree = ast.parse(self.get_data(path), path)
        for number, mend in by_file[path]:
            tree = mended(tree, number, mend)
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    def executed(self: Any, module: Any) -> None:
        if self.path in by_file:
            vars(module).update(answers.GLOBALS)
        exec_module(self, module)

    loader.get_code, loader.exec_module = rewritten, executed


def mended(tree: ast.Module, number: int, mend: Mend) -> ast.Module:
    """``tree`` with one place mended or recorded. Raises ValueError if it can't be mended."""
    rewrite = _Rewrite(number, mend)
    tree = rewrite.visit(tree)
    if not rewrite.is_done and mend.values is not None:
        raise ValueError("no expression is exactly there")
    return tree


class _Rewrite(ast.NodeTransformer):
    """Rewrites what is at one place."""

    def __init__(self, number: int, mend: Mend) -> None:
        self._number = number
        self._mend = mend
        self._parents: list[ast.AST] = []
        self.is_done = False

    def visit(self, node: ast.AST) -> Any:
        """The node itself, or what replaces it."""
        if not self.is_done and is_at(node, self._mend.place):
            self.is_done = True
            new = self._of_expression(node) if isinstance(node, ast.expr) else self._of_statement(node)  # type: ignore[arg-type]
            return ast.copy_location(new, node)
        self._parents.append(node)
        found: Any = self.generic_visit(node)
        self._parents.pop()
        return self._without_removed(found)

    def _of_expression(self, node: ast.expr) -> ast.AST:
        parent = self._parents[-1]
        if isinstance(parent, ast.withitem) and parent.context_expr is node:
            return node if self._mend.values is None else _call("__oracle_nothing__")
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):  # the target of an assignment
            setattr(parent, _REMOVED, self._mend.values is not None)
            return node
        if self._mend.values is not None:
            return answers.source_of(list(self._mend.values), self._number)
        is_condition = isinstance(parent, _CONDITIONS) and getattr(parent, "test", None) is not None
        is_condition = is_condition and _same(parent.test, node)  # type: ignore[attr-defined]
        is_condition |= isinstance(parent, ast.BoolOp) or (
            isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
        )
        is_condition |= isinstance(parent, ast.comprehension) and any(_same(test, node) for test in parent.ifs)
        return _call("__oracle_saw__", ast.Constant(self._number), ast.Constant(is_condition), node)

    def _of_statement(self, node: ast.stmt) -> ast.AST:
        if self._mend.is_output and isinstance(node, ast.Return) and node.value is not None:
            if self._mend.values is not None:
                node.value = ast.copy_location(_call("__oracle_tensors__", node.value), node)
            return node
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return self._of_in_place(node, node.target.id)
        if self._mend.values is None:
            return node
        if isinstance(node, _REMOVABLE):
            return ast.Pass()
        raise ValueError(f"a {type(node).__name__} can't be mended")

    def _of_in_place(self, node: ast.AugAssign, name: str) -> ast.AST:
        """``x += y`` as ``x = …``."""
        target, value = ast.Name(name, ast.Store()), ast.BinOp(ast.Name(name, ast.Load()), node.op, node.value)
        if self._mend.values is not None:
            return ast.Assign([target], answers.source_of(list(self._mend.values), self._number))
        seen = _call("__oracle_saw__", ast.Constant(self._number), ast.Constant(False), value)
        return ast.Assign([target], seen)

    def _without_removed(self, node: Any) -> Any:
        if getattr(node, _REMOVED, False) and isinstance(node, _REMOVABLE):
            return ast.copy_location(ast.Pass(), node)
        return node


_REMOVED = "is_removed"


def is_at(node: ast.AST, place: Place) -> bool:
    """Whether a node is exactly at a place; of a statement that is only an expression, the expression is."""
    is_code = isinstance(node, ast.expr | ast.stmt) and not isinstance(node, ast.Expr)
    return is_code and position(node) == place[1:]  # type: ignore[arg-type]


def expressions_around(place: Place) -> list[Place]:
    """The place itself, and the expressions that contain it, the innermost first."""
    tree = ast.parse(Path(place[0]).read_text(encoding="utf-8"))
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    node: ast.AST | None = next((node for node in ast.walk(tree) if is_at(node, place)), None)
    found = [place]
    while node is not None and isinstance(node := parents.get(node), ast.expr | ast.keyword):
        if isinstance(node, ast.expr):
            line, end_line, column, end_column = position(node)
            found.append((place[0], line, end_line or line, column, end_column or 0))
    return found


def conditions_at(place: Place) -> list[Place]:
    """The operands of ``and`` and ``or`` at a place, without ``not``: torch doesn't tell about which one it asks."""
    tree = ast.parse(Path(place[0]).read_text(encoding="utf-8"))
    at = [node for node in ast.walk(tree) if isinstance(node, ast.BoolOp) and is_at(node, place)]
    if not at:
        return [place]
    found: list[Place] = []
    for operand in at[0].values:
        while isinstance(operand, ast.UnaryOp) and isinstance(operand.op, ast.Not):
            operand = operand.operand
        line, end_line, column, end_column = position(operand)
        found += conditions_at((place[0], line, end_line or line, column, end_column or 0))
    return found


def position(node: ast.expr | ast.stmt) -> tuple[int, int | None, int, int | None]:
    """The part of a `Place` after the file."""
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _same(one: Any, other: Any) -> bool:
    return one is other or (isinstance(one, ast.expr) and position(one) == position(other))


def _call(name: str, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])
