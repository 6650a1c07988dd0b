"""Fixes as quick fixes on the diagnostics that they mend, all proven ones of a file as one action, and what can be done
without a diagnostic."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lsprotocol import types

from fx_lsp.agent.messages import Proof, Verdict
from fx_lsp.analysis import Analysis
from fx_lsp.directive_edits import ignoring
from fx_lsp.features.diagnostics import FINDING, SOURCE, identity
from fx_lsp.features.places import ClientPlaces
from fx_lsp.features.refactorings import on_definition, on_selection
from fx_lsp.findings import Finding, merged
from fx_lsp.fixes import Fix, fixes_for
from fx_lsp.proofs import Proofs
from fx_lsp.tracing_calls import calls_with

FIX_ALL = "source.fixAll.fx"
"""The kind of the action that applies all proven fixes of a file."""

QUICK_FIX, REWRITE, EXTRACT = (
    types.CodeActionKind.QuickFix,
    types.CodeActionKind.RefactorRewrite,
    types.CodeActionKind.RefactorExtract,
)
KINDS = [QUICK_FIX, REWRITE, EXTRACT, FIX_ALL]
"""All that are offered."""


@dataclass(frozen=True)
class Takes:
    """What of code actions the client takes, beyond what all can."""

    versions: bool
    """Edits that name the versions they are for."""
    disabled: bool
    """An action that is not to be had, with the reason."""


async def code_actions(
    analysis: Analysis, proofs: Proofs, places: ClientPlaces, params: types.CodeActionParams, takes: Takes
) -> list[types.CodeAction]:
    """The fixes for the diagnostics that the client asks about, the proven ones first; what can be done about the class
    or the expression there; and the fixes for the whole file.

    What is not known to be proven yet is tried now, for the next request.
    """
    path = places.path(params.text_document.uri)
    if path is None:
        return []
    actions: list[types.CodeAction | None] = []
    offers = _Offers(analysis, places, takes)
    try:
        for diagnostic in params.context.diagnostics if _wanted(params.context, QUICK_FIX) else ():
            actions += await _quick_fixes(analysis, proofs, places, params.text_document.uri, diagnostic, offers)
    except ImportError as error:
        actions = [_not_to_be_had(error) if takes.disabled else None]
    actions += await _refactorings(analysis, places, path, params, offers)
    if _wanted(params.context, FIX_ALL) and (fix := proofs.together(path)):
        title = fix.title if len(fix.changes) > 1 else f"Proven in this file: {fix.title}"
        actions.append(offers.action(fix, FIX_ALL, title=title))
    return [action for action in actions if action]


async def _quick_fixes(
    analysis: Analysis, proofs: Proofs, places: ClientPlaces, uri: str, diagnostic: types.Diagnostic, offers: _Offers
) -> list[types.CodeAction | None]:
    finding = _finding(analysis, places, uri, diagnostic)
    if finding is None:
        return []
    ignored = [offers.action(fix, QUICK_FIX, diagnostic) for fix in _ignoring(analysis, finding)]
    path = finding.place.path
    calls = calls_with(finding.failure, analysis.results)
    files = [*(step.span.file for step in finding.failure.chain), *(call.file for call in calls)]
    if not _fresh(analysis, files, finding.moment):
        return [*ignored]
    fixes = await asyncio.to_thread(fixes_for, finding.failure, _texts(analysis, path, files).get, calls)
    # The thread took a while; places of an older text mean nothing in a newer one.
    if not _fresh(analysis, files, finding.moment):
        return []
    proofs.want(finding.failure, fixes)
    tried = [(fix, proofs.known(finding.failure, fix)) for fix in fixes]
    proven = [offers.action(fix, QUICK_FIX, diagnostic, proof=proof) for fix, proof in tried if _is(proof, "proven")]
    others = [(fix, proof) for fix, proof in tried if not _is(proof, "proven") and not _is(proof, "refuted")]
    return [*proven, *(offers.action(fix, QUICK_FIX, diagnostic, proof=proof) for fix, proof in others), *ignored]


def _ignoring(analysis: Analysis, finding: Finding) -> Iterator[Fix]:
    """The comment that hides a finding of a trace, in the text as it is now."""
    path = finding.place.path
    lines = analysis.documents.lines(path)
    if finding.targets and lines and path in analysis.results:
        ends = (finding.place.start, finding.place.end)
        first, last = (lines.position(offset, "utf-8").line + 1 for offset in ends)
        if fix := ignoring(path, lines.text, finding.rule.code, first, last):
            yield fix


async def _refactorings(
    analysis: Analysis, places: ClientPlaces, path: str, params: types.CodeActionParams, offers: _Offers
) -> list[types.CodeAction | None]:
    uri, text, result = params.text_document.uri, analysis.documents.text(path), analysis.results.get(path)
    start, end = places.offset(uri, params.range.start), places.offset(uri, params.range.end)
    if text is None or result is None or start is None or end is None:
        return []
    actions: list[types.CodeAction | None] = []
    if _wanted(params.context, REWRITE):
        actions += [offers.action(fix, REWRITE) for fix in on_definition(path, text, start, result)]
    if start < end and _wanted(params.context, EXTRACT):
        with contextlib.suppress(ImportError):  # this Python has no libcst
            fix = await asyncio.to_thread(on_selection, path, text, start, end)
            if fix and analysis.documents.text(path) == text:
                actions.append(offers.action(fix, EXTRACT))
    return actions


def _is(proof: Proof | None, verdict: Verdict) -> bool:
    return proof is not None and proof.verdict == verdict


def _wanted(context: types.CodeActionContext, kind: str) -> bool:
    """Whether actions of this kind are among what the client asks for: kinds are prefixes, with dots."""
    asked = context.only
    return asked is None or any(only == "" or (kind + ".").startswith(only + ".") for only in asked)


def _finding(analysis: Analysis, places: ClientPlaces, uri: str, diagnostic: types.Diagnostic) -> Finding | None:
    """The finding that the client shows as ``diagnostic``; None when it is no longer there.

    It is the one that the diagnostic names, where the client gives that back, or the one that has its range. Else one
    on its line that says the same is meant: some clients (Neovim 0.7) don't give back the range that they were sent
    where a line has characters beyond ASCII.
    """
    if diagnostic.source != SOURCE:
        return None
    data = diagnostic.data
    named = data.get(FINDING) if isinstance(data, dict) else None
    alike = []
    for finding in merged(analysis.findings()):
        found = places.location(finding.place)
        if found is None or found.uri != uri or finding.rule.code != diagnostic.code:
            continue
        if found.range == diagnostic.range or (named and named == identity(finding)):
            return finding
        if found.range.start.line == diagnostic.range.start.line and diagnostic.message.startswith(finding.message):
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
    return types.CodeAction("Insert torch.fx.wrap(…)", kind=QUICK_FIX, disabled=types.CodeActionDisabled(reason))


@dataclass(frozen=True)
class _Offers:
    """Puts fixes into the form that the client takes."""

    analysis: Analysis
    places: ClientPlaces
    takes: Takes

    def action(
        self,
        fix: Fix,
        kind: str,
        diagnostic: types.Diagnostic | None = None,
        *,
        proof: Proof | None = None,
        title: str = "",
    ) -> types.CodeAction | None:
        """The action that makes a fix, under its own title if no other is given; None where no edit makes it."""
        edits = self.places.edits(fix.changes)
        if edits is None:
            return None
        why = f" (not tried: {proof.reason})" if proof and proof.verdict == "untried" else ""
        return types.CodeAction(
            (title or fix.title) + why,
            kind=kind,
            diagnostics=[diagnostic] if diagnostic else None,
            edit=self._edit(edits),
            is_preferred=True if _is(proof, "proven") else None,
        )

    def _edit(self, edits: dict[str, list[types.TextEdit]]) -> types.WorkspaceEdit:
        if not self.takes.versions:
            return types.WorkspaceEdit(changes=edits)
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(
                    types.OptionalVersionedTextDocumentIdentifier(uri, self.places.version(uri)), [*changes]
                )
                for uri, changes in edits.items()
            ]
        )
