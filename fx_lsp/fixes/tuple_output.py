"""Return a tuple instead of an iterator or a view of a dict, which ``torch.export`` can't take apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes.editing import Fix, ReadText
from fx_lsp.fixes.editing.edited_source import source_of

_ITERABLE = re.compile(r"<class '(?:\w+_iterator|dict_\w+|generator|map|zip|filter|reversed|enumerate|set|frozenset)'>")


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix if the text shows the ``return``. It changes the type of what ``forward`` returns."""
    span = failure.chain[-1].span if failure.chain else None
    source = source_of(span.file, read) if span and _ITERABLE.search(failure.error) else None
    if source is None:
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Return) and node.value is not None and source.span(node) == span:
            yield Fix("Return a tuple", (source.replaced(node.value, f"tuple({source.slice(node.value)})"),))
