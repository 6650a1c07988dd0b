"""Fixes as quick fixes on the diagnostics that they mend, and all proven ones of a file as one action."""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from lsprotocol import types

from fx_lsp.agent.messages import Proof, Verdict
from fx_lsp.analysis import Analysis
from fx_lsp.features.diagnostics import SOURCE
from fx_lsp.features.places import ClientPlaces
from fx_lsp.findings import Finding, merged
from fx_lsp.fixes import Fix, fixes_for
from fx_lsp.proofs import Proofs
from fx_lsp.tracing_calls import calls_with

FIX_ALL = "source.fixAll.fx"
"""The kind of the action that applies all proven fixes of a file."""


async def code_actions(
    analysis: Analysis,
    proofs: Proofs,
    places: ClientPlaces,
    params: types.CodeActionParams,
    *,
    versioned: bool,
    disabled: bool,
) -> list[types.CodeAction]:
    """The fixes for the diagnostics that the client asks about, the proven ones first, and those for the whole file.

    What is not known to be proven yet is tried now, for the next request. ``versioned``: whether the client takes edits
    that name the versions they are for. ``disabled``: whether it can say why an action is not to be had.
    """
    path = places.path(params.text_document.uri)
    if path is None:
        return []
    actions = []
    edits = _Edits(analysis, places, versioned)
    if _wanted(params.context, types.CodeActionKind.QuickFix):
        for diagnostic in params.context.diagnostics:
            try:
                actions += await _quick_fixes(analysis, proofs, places, path, diagnostic, edits)
            except ImportError as error:
                return [_not_to_be_had(error)] if disabled else []
    if _wanted(params.context, FIX_ALL) and (fix := proofs.together(path)):
        title = fix.title if len(fix.changes) > 1 else f"Proven in this file: {fix.title}"
        actions.append(types.CodeAction(title, kind=FIX_ALL, edit=edits.edit(fix)))
    return actions


async def _quick_fixes(
    analysis: Analysis,
    proofs: Proofs,
    places: ClientPlaces,
    path: str,
    diagnostic: types.Diagnostic,
    edits: _Edits,
) -> list[types.CodeAction]:
    finding = _finding(analysis, places, path, diagnostic)
    if finding is None:
        return []
    calls = calls_with(finding.failure, analysis.results)
    files = [*(step.span.file for step in finding.failure.chain), *(call.file for call in calls)]
    if not _fresh(analysis, files, finding.moment):
        return []
    fixes = await asyncio.to_thread(fixes_for, finding.failure, _texts(analysis, path, files).get, calls)
    # The thread took a while; places of an older text mean nothing in a newer one.
    if not _fresh(analysis, files, finding.moment):
        return []
    proofs.want(finding.failure, fixes)
    tried = [(fix, proofs.known(finding.failure, fix)) for fix in fixes]
    actions = [_action(fix, proof, diagnostic, edits) for fix, proof in tried if not _is(proof, "refuted")]
    return sorted(actions, key=lambda action: not action.is_preferred)


def _is(proof: Proof | None, verdict: Verdict) -> bool:
    return proof is not None and proof.verdict == verdict


def _wanted(context: types.CodeActionContext, kind: str) -> bool:
    """Whether actions of this kind are among what the client asks for: kinds are prefixes, with dots."""
    asked = context.only
    return asked is None or any(only == "" or (kind + ".").startswith(only + ".") for only in asked)


def _finding(analysis: Analysis, places: ClientPlaces, path: str, diagnostic: types.Diagnostic) -> Finding | None:
    """The finding that the client shows as ``diagnostic``; None when it is no longer there.

    Where none has its range, one on its line that says the same is meant: some clients (Neovim 0.7) don't give back the
    range that they were sent where a line has characters beyond ASCII.
    """
    if diagnostic.source != SOURCE:
        return None
    alike = []
    for finding in merged(analysis.findings()):
        found = places.range(finding.place)
        if finding.place.path != path or finding.rule.code != diagnostic.code or found is None:
            continue
        if found == diagnostic.range:
            return finding
        if found.start.line == diagnostic.range.start.line and diagnostic.message.startswith(finding.message):
            alike.append(finding)
    return alike[0] if len(alike) == 1 else None


def _fresh(analysis: Analysis, files: Iterable[str], moment: int) -> bool:
    """Whether every file that edits may be made in still has the text that was traced."""
    return not any(analysis.documents.changed_since(file, moment) for file in files)


def _texts(analysis: Analysis, path: str, files: Iterable[str]) -> dict[str, str | None]:
    """The texts of those of ``files`` that are the user's own."""
    roots = analysis.workspace.roots_of(path)
    return {file: analysis.documents.text(file) for file in files if analysis.workspace.owns(file, roots)}


def _not_to_be_had(error: ImportError) -> types.CodeAction:
    """In the place of all fixes, where this Python has no libcst: the VS Code extension's may lack it."""
    reason = f"The server's Python, {sys.executable}, can't edit: {error}"
    return types.CodeAction(
        "Insert torch.fx.wrap(…)", kind=types.CodeActionKind.QuickFix, disabled=types.CodeActionDisabled(reason)
    )


def _action(fix: Fix, proof: Proof | None, diagnostic: types.Diagnostic, edits: _Edits) -> types.CodeAction:
    why = f" (not tried: {proof.reason})" if proof and proof.verdict == "untried" else ""
    return types.CodeAction(
        fix.title + why,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic],
        edit=edits.edit(fix),
        is_preferred=True if _is(proof, "proven") else None,
    )


@dataclass(frozen=True)
class _Edits:
    """Puts fixes into the form that the client takes."""

    analysis: Analysis
    places: ClientPlaces
    versioned: bool

    def edit(self, fix: Fix) -> types.WorkspaceEdit:
        """All changes of the fix."""
        edits: dict[str, list[types.TextEdit]] = defaultdict(list)
        for change in fix.changes:
            if found := self.places.range_of_span(change.span):
                edits[change.span.file].append(types.TextEdit(found, change.text))
        if not self.versioned:
            return types.WorkspaceEdit(changes={self.places.uri(file): changes for file, changes in edits.items()})
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(
                    types.OptionalVersionedTextDocumentIdentifier(
                        self.places.uri(file), self.analysis.documents.version(file)
                    ),
                    [*changes],
                )
                for file, changes in edits.items()
            ]
        )
