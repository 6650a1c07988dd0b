"""Create a distribution without checks of its arguments: they read the values in tensors."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure, Span
from fx_lsp.fixes.editing import Fix, ReadText, TextChange
from fx_lsp.fixes.editing.edited_source import Source, editable
from fx_lsp.fixes.editing.expression_values import Values

_PACKAGE = "torch.distributions."
_SAME_NAME = frozenset({"kl_divergence", "register_kl"})
"""Functions of the package, which check nothing."""


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix if the innermost editable expression creates a distribution of torch, or calls a method of one."""
    for source, node in itertools.islice(editable(failure.chain, read), 1):
        created = _created(source, node)
        if created is None or any(keyword.arg in ("validate_args", None) for keyword in created.keywords):
            continue
        last = max([*created.args, *(keyword.value for keyword in created.keywords)], key=source.offsets)
        start, end = source.offsets(last)[1], source.offsets(created)[1] - len(")")
        comma = "" if "," in source.text[start:end] else ", "
        if not source.comments_between(start, end):
            line, col = created.end_lineno or 0, (created.end_col_offset or 0) - len(")")
            change = TextChange(Span(source.path, line, col, line, col), f"{comma}validate_args=False")
            yield Fix("Create the distribution without checks", (change,))


def _created(source: Source, node: ast.expr) -> ast.Call | None:
    """The call that creates the distribution, which has arguments; None if the text does not show it."""
    match node:
        case ast.Call(func=function, args=arguments, keywords=keywords) if _is_distribution(source, function):
            return node if arguments or keywords else None
        case ast.Call(func=ast.Attribute(value=value)):
            known = Values(source).only_value(value) or value
            return _created(source, known) if isinstance(known, ast.Call) else None
    return None


def _is_distribution(source: Source, function: ast.expr) -> bool:
    name = source.names.qualified(function) or ""
    return name.startswith(_PACKAGE) and name.rpartition(".")[2] not in _SAME_NAME
