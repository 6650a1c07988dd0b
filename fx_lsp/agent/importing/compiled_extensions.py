"""Tells whether a missing module is a C++ extension that the workspace itself builds.

Its functions accept tensors only: passed a traced value, they raise a TypeError, whatever they would compute.
"""

from __future__ import annotations

import ast
import functools
import linecache
import re
from collections.abc import Iterator
from pathlib import Path

_USES_TORCH = re.compile(r"\bcpp_extension\b")
"""In the text of a file that builds extensions, or loads them, with torch.utils.cpp_extension."""

_BUILDS = re.compile(r"extension|(^|_)ext$", re.IGNORECASE)
"""The names of functions that describe an extension: ``CUDAExtension``, ``make_cuda_ext``."""

_LOADS = frozenset({"load", "load_inline"})
"""The functions of torch.utils.cpp_extension that build an extension while a program runs."""

MOST_FOLDERS = 8
"""In how many of the folders around a file setup scripts are looked for."""


@functools.lru_cache(maxsize=256)
def is_extension(name: str, file: str) -> bool:
    """Whether ``name``, of a missing function that ``file`` calls, is that of one in an extension.

    Such a name is ``package._ext.function``. The extension is one that ``file`` loads, or that a ``setup.py`` in a
    folder around the file builds.
    """
    module = name.rpartition(".")[0].rpartition(".")[2]
    folders = [*Path(file).parents][:MOST_FOLDERS]
    return module in _loaded(file) or any(module in _built(str(folder / "setup.py")) for folder in folders)


def _loaded(file: str) -> Iterator[str]:
    """The variables to which a program assigns extensions that it loads."""
    for node in ast.walk(_tree_of(file)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _loads(node.value):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _loads(call: ast.Call) -> bool:
    """Whether a call is that of a function that builds an extension, rather than ``torch.load``."""
    is_of_another = isinstance(call.func, ast.Attribute) and not ast.unparse(call.func.value).endswith("cpp_extension")
    return _name_of(call) in _LOADS and not is_of_another


def _built(setup: str) -> Iterator[str]:
    """The names, without those of their packages, of the modules that a setup script builds as extensions."""
    tree = _tree_of(setup)
    texts = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and _BUILDS.search(_name_of(call)):
            named = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "name")]
            for value in named:
                text = texts.get(value.id) if isinstance(value, ast.Name) else value
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield text.value.rpartition(".")[2]


def _name_of(call: ast.Call) -> str:
    """The last name in what is called: ``load`` for ``cpp_extension.load(…)``."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _tree_of(file: str) -> ast.Module:
    """The syntax of a file that has to do with torch's extensions; otherwise empty."""
    text = "".join(linecache.getlines(file))  # of the editor, where that has another text than the disk
    try:
        return ast.parse(text) if _USES_TORCH.search(text) else ast.Module([], [])
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])
