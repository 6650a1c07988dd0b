"""Fixes as quick fixes on the diagnostics that they mend."""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict

from lsprotocol import types

from fx_lsp.analysis import Analysis
from fx_lsp.features.diagnostics import SOURCE
from fx_lsp.features.places import ClientPlaces
from fx_lsp.findings import Finding, merged
from fx_lsp.fixes import Fix, fixes_for
from fx_lsp.rules import rule_for


async def quick_fixes(
    analysis: Analysis, places: ClientPlaces, params: types.CodeActionParams, *, versioned: bool, disabled: bool
) -> list[types.CodeAction]:
    """The fixes for the diagnostics that the client asks about.

    ``versioned``: whether the client takes edits that name the versions they are for. ``disabled``: whether it can
    say why an action is not to be had.
    """
    path = places.path(params.text_document.uri)
    if path is None or not _wanted(params.context):
        return []
    actions = []
    for diagnostic in params.context.diagnostics:
        finding = _finding(analysis, places, path, diagnostic)
        if finding and _fresh(analysis, finding):
            try:
                fixes = await asyncio.to_thread(fixes_for, finding.failure, _texts(analysis, path, finding).get)
            except ImportError as error:
                return [_not_to_be_had(error)] if disabled else []
            # The thread took a while; places of an older text mean nothing in a newer one.
            if _fresh(analysis, finding):
                actions += [_action(analysis, places, fix, diagnostic, versioned=versioned) for fix in fixes]
    return actions


def _wanted(context: types.CodeActionContext) -> bool:
    """Whether quick fixes are among the kinds that the client asks for."""
    return context.only is None or any(kind in ("", types.CodeActionKind.QuickFix) for kind in context.only)


def _finding(analysis: Analysis, places: ClientPlaces, path: str, diagnostic: types.Diagnostic) -> Finding | None:
    """The finding that the client shows as ``diagnostic``; None when it is no longer there."""
    if diagnostic.source != SOURCE:
        return None
    for finding in merged(analysis.findings()):
        same_code = rule_for(finding.failure.kind).code == diagnostic.code
        if same_code and finding.place.path == path and places.range(finding.place) == diagnostic.range:
            return finding
    return None


def _files(finding: Finding) -> list[str]:
    return [step.span.file for step in finding.failure.chain]


def _fresh(analysis: Analysis, finding: Finding) -> bool:
    """Whether every file that the failure speaks of still has the text that was traced."""
    return not any(analysis.documents.changed_since(file, finding.moment) for file in _files(finding))


def _texts(analysis: Analysis, path: str, finding: Finding) -> dict[str, str | None]:
    """The texts of the user's own files that the failure speaks of."""
    roots = analysis.workspace.roots_of(path)
    own = [file for file in _files(finding) if analysis.workspace.owns(file, roots)]
    return {file: analysis.documents.text(file) for file in own}


def _not_to_be_had(error: ImportError) -> types.CodeAction:
    """In the place of all fixes, where this Python has no libcst: the VS Code extension's may lack it."""
    reason = f"The server's Python, {sys.executable}, can't edit: {error}"
    return types.CodeAction(
        "Insert torch.fx.wrap(…)", kind=types.CodeActionKind.QuickFix, disabled=types.CodeActionDisabled(reason)
    )


def _action(
    analysis: Analysis, places: ClientPlaces, fix: Fix, diagnostic: types.Diagnostic, *, versioned: bool
) -> types.CodeAction:
    edits: dict[str, list[types.TextEdit]] = defaultdict(list)
    for change in fix.changes:
        found = places.range_of_span(change.span)
        if found:
            edits[change.span.file].append(types.TextEdit(found, change.text))
    edit = types.WorkspaceEdit()
    if versioned:
        edit.document_changes = [
            types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(places.uri(file), analysis.documents.version(file)),
                [*changes],
            )
            for file, changes in edits.items()
        ]
    else:
        edit.changes = {places.uri(file): changes for file, changes in edits.items()}
    return types.CodeAction(fix.title, kind=types.CodeActionKind.QuickFix, diagnostics=[diagnostic], edit=edit)
