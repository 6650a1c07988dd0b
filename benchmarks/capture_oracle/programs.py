"""The programs that are looked into: the modules in ``tests/workspaces/many_failures``, and models of libraries."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from typing import Any

import torch

WORKSPACE = Path(__file__).resolve().parents[2] / "tests" / "workspaces" / "many_failures"
HAND_MADE = "hand-made"
"""The name of the library of hand-made modules."""

Program = tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]
"""A module with its positional and keyword arguments."""


def program(library: str, name: str) -> Program:
    """Build one program."""
    torch.manual_seed(0)
    if library == HAND_MADE:
        return _hand_made(name)
    from benchmarks.capture_models import arguments, build

    args, kwargs = arguments(library, name)
    return build(library, name), args, kwargs


def _hand_made(name: str) -> Program:
    """What the file's ``if __name__ == "__main__":`` builds as ``model`` and calls."""
    model, args, keywords = example(WORKSPACE / f"{name}.py")
    sys.path.insert(0, str(WORKSPACE))
    namespace = vars(importlib.import_module(name))
    kwargs = {keyword: eval(text, namespace) for keyword, text in keywords.items()}
    return eval(model, namespace), tuple(eval(arg, namespace) for arg in args), kwargs


def example(path: Path) -> tuple[str, list[str], dict[str, str]]:
    """The source of the expression that builds ``model``, and of the arguments that it is called with."""
    block = ast.parse(path.read_text(encoding="utf-8")).body[-1]
    built = [node.value for node in ast.walk(block) if isinstance(node, ast.Assign)]
    calls = [node for node in ast.walk(block) if isinstance(node, ast.Call) and ast.unparse(node.func) == "model"]
    keywords = {str(keyword.arg): ast.unparse(keyword.value) for keyword in calls[-1].keywords}
    return ast.unparse(built[0]), [ast.unparse(arg) for arg in calls[-1].args], keywords
