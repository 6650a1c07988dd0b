"""Create a distribution without checks of its arguments: they read the values in tensors."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes.editing import Fix, ReadText, TextChange
from fx_lsp.fixes.editing.edited_source import Source, editable
from fx_lsp.fixes.editing.expression_values import Values

_PACKAGE = "torch.distributions."


_MOST_POSITIONAL = 2
"""How many parameters a distribution has before ``validate_args``, at most."""


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix if the innermost editable expression creates a distribution of torch, or calls a method of one."""
    for source, node in itertools.islice(editable(failure.chain, read), 1):
        created = _created(source, node)
        if created is None or any(keyword.arg in ("validate_args", None) for keyword in created.keywords):
            continue
        values = [*created.args, *(keyword.value for keyword in created.keywords)]
        last = max(values, key=source.offsets) if values else created.func
        start, end = source.offsets(last)[1], source.offsets(created)[1] - len(")")
        is_given = len(created.args) > _MOST_POSITIONAL
        if values and not is_given and "#" not in source.text[start:end]:
            rest = source.text[start:end].rstrip().removesuffix(",")
            change = TextChange(source.span(last, to=created), f"{source.slice(last)}{rest}, validate_args=False)")
            yield Fix("Create the distribution with `validate_args=False`", (change,))


def _created(source: Source, node: ast.expr) -> ast.Call | None:
    """The call that creates the distribution; None if the text does not show it."""
    match node:
        case ast.Call(func=ast.Attribute(value=value)) if not _is_distribution(source, node.func):
            node = Values(source).only_value(value) or value
    return node if isinstance(node, ast.Call) and _is_distribution(source, node.func) else None


def _is_distribution(source: Source, function: ast.expr) -> bool:
    name = source.names.qualified(function) or ""
    module, _, last = name.removeprefix(_PACKAGE).rpartition(".")
    is_class = last[:1].isupper() and not last.endswith(("Transform", "Independent"))
    return name.startswith(_PACKAGE) and is_class and module not in ("constraints", "transforms", "utils")
