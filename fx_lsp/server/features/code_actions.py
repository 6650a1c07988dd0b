"""Offers fixes as quick fixes on their diagnostics, all proven fixes of a file as one action, and refactorings."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lsprotocol import types

from fx_lsp.agent.messages import Proof, Verdict
from fx_lsp.analysis.findings import Finding, merged
from fx_lsp.analysis.fix_proofs import FixProofs
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.fixes import Fix, fixes_for
from fx_lsp.fixes.editing.directive_edits import ignoring, stating_inputs
from fx_lsp.server.features.client_places import ClientPlaces
from fx_lsp.server.features.diagnostics import FINDING, SOURCE, identity
from fx_lsp.server.features.refactorings import on_definition, on_export_call, on_selection

FIX_ALL = "source.fixAll.fx"
"""The kind of the action that applies all proven fixes of a file."""

QUICK_FIX, REWRITE, EXTRACT = (
    types.CodeActionKind.QuickFix,
    types.CodeActionKind.RefactorRewrite,
    types.CodeActionKind.RefactorExtract,
)
KINDS = [QUICK_FIX, REWRITE, EXTRACT, FIX_ALL]
"""The kinds of all actions that are offered."""


@dataclass(frozen=True)
class Takes:
    """Which optional parts of code actions the client supports."""

    versions: bool
    """Edits that contain the versions of the documents."""
    disabled: bool
    """Disabled actions, with the reason."""


async def code_actions(
    scheduler: Scheduler, proofs: FixProofs, places: ClientPlaces, params: types.CodeActionParams, takes: Takes
) -> list[types.CodeAction]:
    """The fixes for the diagnostics in the request, proven ones first; refactorings of the class or expression at the
    requested range; and all proven fixes of the file as one action.

    fx-lsp starts to try the fixes that have not been tried yet; later requests show the results.
    """
    path = places.path(params.text_document.uri)
    if path is None:
        return []
    actions: list[types.CodeAction | None] = []
    offers = _Offers(places, takes)
    try:
        for diagnostic in params.context.diagnostics if _wanted(params.context, QUICK_FIX) else ():
            actions += await _quick_fixes(scheduler, proofs, places, params.text_document.uri, diagnostic, offers)
    except ImportError as error:
        actions = [_fixes_unavailable(error) if takes.disabled else None]
    actions += await _refactorings(scheduler, places, path, params, offers)
    if _wanted(params.context, FIX_ALL) and (fix := proofs.together(path)):
        title = fix.title if len(fix.changes) > 1 else f"Proven in this file: {fix.title}"
        actions.append(offers.action(fix, FIX_ALL, title=title))
    return [action for action in actions if action]


async def _quick_fixes(
    scheduler: Scheduler,
    proofs: FixProofs,
    places: ClientPlaces,
    uri: str,
    diagnostic: types.Diagnostic,
    offers: _Offers,
) -> list[types.CodeAction | None]:
    finding = _finding(scheduler, places, uri, diagnostic)
    if finding is None:
        return []
    ignored = [offers.action(fix, QUICK_FIX, diagnostic) for fix in _ignoring(scheduler, finding)]
    path = finding.place.path
    calls = scheduler.results.calls_with(finding.failure)
    chained = proofs.trials.chained(finding.failure)
    files = [*(step.span.file for step in finding.failure.chain), *(call.file for call in calls)]
    files += [change.span.file for fix in chained for change in fix.changes]
    if not _fresh(scheduler, files, finding.moment):
        return [*ignored]
    fixes = await asyncio.to_thread(fixes_for, finding.failure, _texts(scheduler, path, files).get, calls)
    fixes = await asyncio.to_thread(proofs.trials.in_order, finding.failure, fixes)
    fixes = (*chained, *fixes)
    # The user may have typed meanwhile; places in an older text are not valid in a newer one.
    if not _fresh(scheduler, files, finding.moment):
        return []
    proofs.want(finding.failure, fixes)
    tried = [(fix, proofs.trials.known(finding.failure, fix)) for fix in fixes]
    proven = [offers.action(fix, QUICK_FIX, diagnostic, proof=proof) for fix, proof in tried if _is(proof, "proven")]
    others = [(fix, proof) for fix, proof in tried if not _is(proof, "proven") and not _is(proof, "refuted")]
    lacks_inputs = not proven and any(proof and proof.lacks_inputs for _, proof in tried)
    stated = _stating_inputs(scheduler, finding) if lacks_inputs else None
    return [
        *proven,
        *(
            offers.action(fix, QUICK_FIX, diagnostic, proof=proof, waits=proofs.is_waiting(finding.failure, fix))
            for fix, proof in others
        ),
        offers.action(stated, QUICK_FIX, diagnostic) if stated else None,
        *ignored,
    ]


def _stating_inputs(scheduler: Scheduler, finding: Finding) -> Fix | None:
    """The edit that writes a comment with example inputs above the class that fails."""
    owner = scheduler.results.owner(finding.failure)
    text = scheduler.documents.text(owner[0]) if owner else None
    return stating_inputs(owner[0], text, owner[1].target.symbol or "") if owner and text else None


def _ignoring(scheduler: Scheduler, finding: Finding) -> Iterator[Fix]:
    """The edit that writes a comment to suppress a finding, if a trace found it and such a comment can be added."""
    path = finding.place.path
    lines = scheduler.documents.lines(path)
    if finding.targets and lines and path in scheduler.results:
        ends = (finding.place.start, finding.place.end)
        first, last = (lines.position(offset, "utf-8").line + 1 for offset in ends)
        if fix := ignoring(path, lines.text, finding.rule.code, first, last):
            yield fix


async def _refactorings(
    scheduler: Scheduler, places: ClientPlaces, path: str, params: types.CodeActionParams, offers: _Offers
) -> list[types.CodeAction | None]:
    uri, text, result = params.text_document.uri, scheduler.documents.text(path), scheduler.results.get(path)
    start, end = places.offset(uri, params.range.start), places.offset(uri, params.range.end)
    if text is None or result is None or start is None or end is None:
        return []
    actions: list[types.CodeAction | None] = []
    if _wanted(params.context, REWRITE):
        actions += [offers.action(fix, REWRITE) for fix in on_definition(path, text, start, result)]
        with contextlib.suppress(ImportError):  # this Python has no libcst
            fix = await asyncio.to_thread(on_export_call, path, text, start, scheduler.results)
            if fix and scheduler.documents.text(path) == text:
                actions.append(offers.action(fix, REWRITE))
    if start < end and _wanted(params.context, EXTRACT):
        with contextlib.suppress(ImportError):  # this Python has no libcst
            fix = await asyncio.to_thread(on_selection, path, text, start, end)
            if fix and scheduler.documents.text(path) == text:
                actions.append(offers.action(fix, EXTRACT))
    return actions


def _is(proof: Proof | None, verdict: Verdict) -> bool:
    return proof is not None and proof.verdict == verdict


def _wanted(context: types.CodeActionContext, kind: str) -> bool:
    """Whether the client requests actions of this kind; a request for ``refactor`` includes ``refactor.extract``."""
    asked = context.only
    return asked is None or any(only == "" or (kind + ".").startswith(only + ".") for only in asked)


def _finding(scheduler: Scheduler, places: ClientPlaces, uri: str, diagnostic: types.Diagnostic) -> Finding | None:
    """The finding that the client shows as ``diagnostic``; None if it has disappeared.

    This is the finding that the diagnostic's data identifies, if the client sends the data back, or the finding at the
    diagnostic's range. Otherwise it is the only finding on the line with the same message: some clients (Neovim 0.7)
    don't send back the range that they received if the line has characters beyond ASCII.
    """
    if diagnostic.source != SOURCE:
        return None
    data = diagnostic.data
    named = data.get(FINDING) if isinstance(data, dict) else None
    alike = []
    path = places.path(uri)
    for finding in merged(scheduler.results.findings({path} if path else ())):
        found = places.location(finding.place)
        if found is None or found.uri != uri or finding.rule.code != diagnostic.code:
            continue
        if found.range == diagnostic.range or (named and named == identity(finding)):
            return finding
        if found.range.start.line == diagnostic.range.start.line and diagnostic.message.startswith(finding.message):
            alike.append(finding)
    return alike[0] if len(alike) == 1 else None


def _result(proof: Proof | None, *, waits: bool) -> str:
    """What came of trying a fix, as the end of its title."""
    if proof is None:
        return " (being tried)" if waits else ""
    return f" ({proof.in_words})"


def _fresh(scheduler: Scheduler, files: Iterable[str], moment: int) -> bool:
    """Whether every file that edits may change still has the text that was traced."""
    return not any(scheduler.documents.changed_since(file, moment) for file in files)


def _texts(scheduler: Scheduler, path: str, files: Iterable[str]) -> dict[str, str | None]:
    """The texts of those ``files`` that belong to the workspace."""
    roots = scheduler.workspace.roots_of(path)
    return {file: scheduler.documents.text(file) for file in files if scheduler.workspace.owns(file, roots)}


def _fixes_unavailable(error: ImportError) -> types.CodeAction:
    """A disabled action, shown instead of fixes if the server's Python has no libcst, e.g. in the VS Code extension."""
    reason = f"Fixes need libcst. Install it in the server's Python, {sys.executable}: {error}"
    return types.CodeAction("Fixes are not available", kind=QUICK_FIX, disabled=types.CodeActionDisabled(reason))


@dataclass(frozen=True)
class _Offers:
    """Turns fixes into code actions that the client supports."""

    places: ClientPlaces
    takes: Takes

    def action(
        self,
        fix: Fix,
        kind: str,
        diagnostic: types.Diagnostic | None = None,
        *,
        proof: Proof | None = None,
        waits: bool = False,
        title: str = "",
    ) -> types.CodeAction | None:
        """The action that applies a fix, with the fix's title if no other is given; None if no edit can apply it.

        ``waits``: whether the fix is about to be tried.
        """
        edits = self.places.edits(fix.changes)
        if edits is None:
            return None
        return types.CodeAction(
            (title or fix.title) + _result(proof, waits=waits),
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
