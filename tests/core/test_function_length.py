"""A function of fxcore is read on one screen."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "fxcore").rglob("*.py"))
SCREEN = 60
"""Lines, from the ``def`` (or the first decorator) to the last."""


def test_the_files_of_fxcore_are_checked() -> None:
    assert ROOT / "fxcore" / "tracer.py" in FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_function_is_longer_than_a_screen(file: Path) -> None:
    functions = [
        node
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert [(node.name, _lines(node)) for node in functions if _lines(node) > SCREEN] == []


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return (node.end_lineno or first) - first + 1
