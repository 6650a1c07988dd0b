"""Pass a NumPy array or number that is known while tracing as one of Python or torch, which a graph can hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes.editing import Fix, ReadText, TextChange
from fx_lsp.fixes.editing.edited_source import Source, editable
from fx_lsp.fixes.editing.expression_values import Values
from fx_lsp.fixes.editing.import_edits import imported

_MOST = 2
"""For how many expressions, each of which may be the value, an edit is offered."""


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix for each part of the failing expression that may be the NumPy value, those that are made by NumPy first.

    An array becomes a list where a call takes it or an index is made of it, and a tensor beside an operator.
    """
    is_array = "'numpy.ndarray'" in failure.error
    for source, node in editable(failure.chain[-1:], read) if "'numpy." in failure.error else ():
        parts = [part for part in _parts(node) if not isinstance(part, ast.Constant | ast.Slice | ast.Starred)]
        made = [part for part in parts if _is_of_numpy(source, part)]
        for part in (made or parts)[:_MOST]:
            text = source.operand(part)
            if not is_array:
                yield Fix(f"Pass {text} as a Python number", (source.replaced(part, f"{text}.item()"),))
            elif isinstance(node, ast.BinOp | ast.Compare):
                yield Fix(f"Turn {text} into a tensor", tuple(_as_tensor(source, part)))
            else:
                yield Fix(f"Pass {text} as a list", (source.replaced(part, f"{text}.tolist()"),))


def _as_tensor(source: Source, part: ast.expr) -> Iterator[TextChange]:
    torch = imported(source, "torch")
    yield from torch.changes
    yield source.replaced(part, f"{torch.name}.as_tensor({source.slice(part)})")


def _parts(node: ast.expr) -> list[ast.expr]:
    """What the operation gets, apart from the object whose method is called or that is indexed."""
    match node:
        case ast.Call(args=arguments, keywords=keywords):
            given = [*arguments, *(keyword.value for keyword in keywords)]
        case ast.BinOp(left=left, right=right):
            given = [left, right]
        case ast.Compare(left=left, comparators=others):
            given = [left, *others]
        case ast.Subscript(slice=index):
            given = [index]
        case _:
            return []
    return [part for one in given for part in (one.elts if isinstance(one, ast.Tuple | ast.List) else [one])]


def _is_of_numpy(source: Source, part: ast.expr) -> bool:
    """Whether the text shows that ``part``, or what it names, is computed by NumPy."""
    named = [Values(source).only_value(part)] if isinstance(part, ast.Name) else Values(source).assigned_to_self(part)
    calls = (node for value in (part, *named) if value is not None for node in ast.walk(value))
    names = (source.names.qualified(call.func) or "" for call in calls if isinstance(call, ast.Call))
    return any(name.startswith("numpy.") for name in names)
