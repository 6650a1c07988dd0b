"""A traced model as a standalone Python module, like the output of `GraphModule.to_folder`, but meant to be edited.

Instead of loading weights from files, its class takes an instance of the model and shares its modules and parameters.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence

_WRAP = "torch.fx._symbolic_trace.wrap("
"""How generated code calls ``torch.fx.wrap``."""

_MADE_BY_TRACING = re.compile(r"_tensor_constant\d+|_torchbind_obj\d+|_(in|out)_spec")
"""Attributes that tracing adds to a graph module."""


def standalone(title: str, symbol: str | None, code: str, imports: Sequence[str]) -> str | None:
    """Python source that defines a module with the generated ``code``; None if the code is cut off and can't be parsed.

    ``title`` and ``symbol`` are the target's. ``imports`` are statements that import the globals of ``code``, and
    comments about the globals that can't be imported.
    """
    try:
        names = list(dict.fromkeys(_attributes(ast.parse(code))))
    except SyntaxError:
        return None
    head, definition, forward = code.strip().partition("def forward(")
    wraps = head.strip().replace(_WRAP, "torch.fx.wrap(").splitlines()
    lines = [
        f'"""`{_quoted(title)}` as torch.fx traces it. Written by fx-lsp."""',
        "",
        *sorted({"import torch", *imports}, key=lambda statement: (statement.startswith("from"), statement)),
        *(["", *wraps] if wraps else []),
        "",
        "",
        f"class {_class_name(symbol)}(torch.nn.Module):",
        *([textwrap.indent(_init(title, names), "    "), ""] if names else []),
        textwrap.indent(definition + forward, "    "),
    ]
    return "\n".join(lines) + "\n"


def _quoted(title: str) -> str:
    """The title, escaped for a docstring."""
    return title.replace("\\", r"\\").replace('"""', r"\"\"\"")


def _class_name(symbol: str | None) -> str:
    name = (symbol or "Model").rpartition(".")[2].lstrip("_")
    return f"{name[:1].upper()}{name[1:]}Traced"


def _init(title: str, names: list[str]) -> str:
    source = f"`{_quoted(title)}`"
    if any(map(_MADE_BY_TRACING.fullmatch, names)):
        source = f"the result of `torch.fx.symbolic_trace` for {source}"
    assignments = (
        f"self.{name} = source.{name}" if name.isidentifier() else f"setattr(self, {name!r}, getattr(source, {name!r}))"
        for name in names
    )
    return "\n".join(
        [
            "def __init__(self, source: torch.nn.Module) -> None:",
            f'    """Shares the modules and parameters of ``source``: {source}."""',
            "    super().__init__()",
            *(f"    {assignment}" for assignment in assignments),
        ]
    )


def _attributes(tree: ast.AST) -> Iterator[str]:
    """The attributes of ``self`` that code reads, with a dot or, if the name is not an identifier, with ``getattr``."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                yield name
            case ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(id="self"), ast.Constant(value=str(name))]):
                yield name
