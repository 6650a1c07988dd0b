"""A traced model as a module of its own: what `GraphModule.to_folder` writes, but for people to go on with.

Instead of files with its weights it takes an instance of the model, whose modules and parameters it shares.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence

_WRAP = "torch.fx._symbolic_trace.wrap("
"""How generated code calls ``torch.fx.wrap``."""

_MADE_BY_TRACING = re.compile(r"_tensor_constant\d+|_torchbind_obj\d+|_(in|out)_spec")
"""Attributes that a graph module has beside those of the module that was traced."""


def standalone(title: str, symbol: str | None, code: str, imports: Sequence[str]) -> str | None:
    """Python that defines a module with the generated forward ``code``; None where that is no Python, as it was cut.

    ``title`` and ``symbol`` are the target's; ``imports`` are statements that bring in the globals of ``code``, and
    comments on those for which there is none.
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
        *sorted({"import torch", *imports}, key=_import_order),
        *(["", *wraps] if wraps else []),
        "",
        "",
        f"class {_class_name(symbol)}(torch.nn.Module):",
        *([textwrap.indent(_init(title, names), "    "), ""] if names else []),
        textwrap.indent(definition + forward, "    "),
    ]
    return "\n".join(lines) + "\n"


def _quoted(title: str) -> str:
    """The title as it is written in a docstring."""
    return title.replace("\\", r"\\").replace('"""', r"\"\"\"")


def _import_order(statement: str) -> tuple[bool, str]:
    return statement.startswith("from"), statement


def _class_name(symbol: str | None) -> str:
    name = (symbol or "Model").rpartition(".")[2].lstrip("_")
    return f"{name[:1].upper()}{name[1:]}Traced"


def _init(title: str, names: list[str]) -> str:
    source = f"`{_quoted(title)}`"
    if any(map(_is_made, names)):
        source = f"what `torch.fx.symbolic_trace` makes of {source}"
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


def _is_made(name: str) -> bool:
    return _MADE_BY_TRACING.fullmatch(name) is not None


def _attributes(tree: ast.AST) -> Iterator[str]:
    """The attributes of ``self`` that are read, by a dot or by ``getattr``, as names that aren't identifiers are."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                yield name
            case ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(id="self"), ast.Constant(value=str(name))]):
                yield name
