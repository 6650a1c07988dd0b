"""Code actions that need no diagnostic: a comment above a class, a helper function, a dynamic batch of an export."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import partial
from pathlib import PurePath

from fx_lsp.agent.messages import Span
from fx_lsp.analysis.results import FileResult, Results
from fx_lsp.documents.positions import LineIndex
from fx_lsp.fixes import Fix
from fx_lsp.fixes.editing.directive_edits import skipping, tracing
from fx_lsp.server.features.outline import definitions_of

WRAP_SELECTED = "Wrap the selected expression in a helper"
"""The title of the action on a selection."""


def on_definition(path: str, text: str, offset: int, result: FileResult) -> Iterator[Fix]:
    """The edits that write a comment above the class or function whose head, or ``def forward``, contains an offset."""
    name = _defined_at(text, offset)
    recipes = [
        traced.report.recipe if traced.report else ""
        for traced in result.traced.values()
        if traced.target.symbol == name
    ]
    if name and (fix := tracing(path, text, name, next(filter(None, recipes), ""))):
        yield fix
    if recipes and (fix := skipping(path, text, name)):
        yield fix


def on_selection(path: str, text: str, start: int, end: int) -> Fix | None:
    """The edit that moves ``text[start:end]``, without surrounding space, to a function that is recorded as one node.

    None if the text is not an expression that can be moved. Raises ImportError if libcst is not installed.
    """
    from fx_lsp.fixes.editing.edited_source import parsed
    from fx_lsp.fixes.move_to_helper import wrapped  # libcst takes a while to load

    selected = text[start:end]
    start, end = start + len(selected) - len(selected.lstrip()), end - len(selected) + len(selected.rstrip())
    source = parsed(path, text) if start < end else None
    node = source.expression(_span(path, LineIndex(text), start, end)) if source else None
    fix = wrapped(source, node) if source and node else None
    return dataclasses.replace(fix, title=WRAP_SELECTED) if fix else None


def on_export_call(path: str, text: str, offset: int, results: Results) -> Fix | None:
    """The edit that asks for a dynamic batch where ``torch.export.export`` is called, if that was tried and worked.

    Raises ImportError if libcst is not installed.
    """
    if "torch" not in text or "export" not in text:
        return None
    from fx_lsp.fixes.dynamic_shapes import with_dynamic_batch  # libcst takes a while to load

    return with_dynamic_batch(path, text, offset, partial(_inputs_with_dynamic_batch, path, results))


def _inputs_with_dynamic_batch(path: str, results: Results, name: str) -> str:
    """The inputs for which a class was exported with a dynamic batch; empty if it was not, or not in all attempts.

    ``name`` is its dotted name in the file ``path``.
    """
    module, _, symbol = name.rpartition(".")
    reports = [
        captured.report
        for file, result in list(results.items())  # reports may arrive meanwhile
        for key, traced in list(result.traced.items())
        if traced.target.symbol == symbol
        and (PurePath(file).stem == module.rpartition(".")[2] if module else file == path)
        and (captured := results.captured(file, key).get("export"))
    ]
    dynamic = [report.inputs for report in reports if report and report.dynamic_batch]
    return dynamic[0] if dynamic and len(dynamic) == len(reports) else ""


def _defined_at(text: str, offset: int) -> str:
    """The name of the module-level class or function whose head is at ``offset``; empty if there is none.

    The ``def forward`` of a class counts as a head of the class.
    """
    for definition in definitions_of(text) or ():
        owner, _, name = definition.name.rpartition(".")
        is_head = definition.whole[0] <= offset <= definition.end + len(text[definition.end :].partition("\n")[0])
        if is_head and "." not in owner and (not owner or name == "forward"):
            return owner or name
    return ""


def _span(path: str, lines: LineIndex, start: int, end: int) -> Span:
    first, last = lines.position(start, "utf-8"), lines.position(end, "utf-8")
    return Span(path, first.line + 1, first.character, last.line + 1, last.character)
