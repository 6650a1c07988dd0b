"""The programs that are looked into: files of the folders `FOLDERS`, and models of libraries."""

from __future__ import annotations

import ast
import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {
    "hand-made": ROOT / "tests" / "workspaces" / "many_failures",
    **{part: ROOT / "benchmarks" / "capture_files" / part for part in ("seen", "held_out")},
    **{part: ROOT / "benchmarks" / "capture_files" / part for part in ("several_seen", "several_held_out")},
    **{part: ROOT / "benchmarks" / "capture_files" / part for part in ("later_seen", "later_held_out")},
    **{part: ROOT / "benchmarks" / "capture_files" / part for part in ("further_seen", "further_held_out")},
}
"""By the name of a group of programs: the folder with its files, each of which has one program."""

Program = tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]
"""A module with its positional and keyword arguments."""


def program(library: str, name: str) -> Program:
    """Build one program."""
    torch.manual_seed(0)
    if library in FOLDERS:
        return _of_file(FOLDERS[library] / f"{name}.py")
    from benchmarks.capture_models import arguments, build

    args, kwargs = arguments(library, name)
    return build(library, name), args, kwargs


def _of_file(path: Path) -> Program:
    """What the file builds as ``model`` and calls or exports."""
    sys.path.insert(0, str(path.parent))
    namespace = vars(importlib.import_module(path.stem))
    shown = example(path)
    model = namespace["model"] if "model" in namespace else eval(shown.model, namespace)
    kwargs = {keyword: eval(text, namespace) for keyword, text in shown.kwargs.items()}
    return model, tuple(eval(arg, namespace) for arg in shown.args), kwargs


@dataclass(frozen=True)
class Example:
    """Source code from a file that shows how its program is used."""

    model: str
    """What builds the program."""
    class_name: str
    args: tuple[str, ...]
    kwargs: dict[str, str]


def example(path: Path) -> Example:
    """How a file builds ``model``, and the arguments that it calls or exports it with."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    built = [node.value for node in ast.walk(tree) if isinstance(node, ast.Assign) and _is_model(node.targets[0])]
    names = [
        node.func.id for node in ast.walk(built[0]) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    calls = [node for node in ast.walk(tree.body[-1]) if isinstance(node, ast.Call)]
    called = [node for node in calls if _is_model(node.func)]
    if called:
        args, keywords = called[-1].args, called[-1].keywords
    else:
        exports = [node for node in calls if ast.unparse(node.func) == "torch.export.export"]
        given = exports[-1].args[1]
        args, keywords = given.elts if isinstance(given, ast.Tuple) else [], []
    texts = {str(keyword.arg): ast.unparse(keyword.value) for keyword in keywords}
    return Example(ast.unparse(built[0]), names[0], tuple(map(ast.unparse, args)), texts)


def _is_model(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "model"
