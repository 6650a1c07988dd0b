"""The language server: one function for each LSP method, which calls the session or a feature."""

from __future__ import annotations

import logging
from typing import Any

import attrs
from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException

from fx_lsp import __version__
from fx_lsp.server.client_settings import configure
from fx_lsp.server.features.code_actions import KINDS, Takes, code_actions
from fx_lsp.server.features.code_lens import code_lenses
from fx_lsp.server.features.directive_help import completions, directive_hover, links
from fx_lsp.server.features.hover import hover
from fx_lsp.server.features.inlay_hints import inlay_hints
from fx_lsp.server.features.notebook_sync import SYNC
from fx_lsp.server.features.views import FORWARD, GRAPH, MODULE, TARGETS
from fx_lsp.server.file_events import OPERATIONS, WATCHERS
from fx_lsp.server.language_server import FxLanguageServer, FxProtocol
from fx_lsp.server.session import ClientSession
from fx_lsp.settings.settings import SECTION

log = logging.getLogger(__name__)


server = FxLanguageServer("fx-lsp", __version__, protocol_cls=FxProtocol, notebook_document_sync=SYNC)


@server.feature(types.INITIALIZE)
def initialize(ls: FxLanguageServer, params: types.InitializeParams) -> None:
    """Create the session. pygls answers with the server's capabilities, which it derives from the features below."""
    ls.session = ClientSession(
        params,
        ls.workspace.position_encoding or "utf-16",
        publish=ls.text_document_publish_diagnostics,
        notify=ls.protocol.notify,
        ask=ls.protocol.send_request,
        log_to_client=lambda message: ls.window_log_message(types.LogMessageParams(types.MessageType.Warning, message)),
        progress=ls.work_done_progress,
    )
    if ls.session.pulls_diagnostics:
        options = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False)
        ls.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)(pull_diagnostics)


@server.feature(types.INITIALIZED)
async def initialized(ls: FxLanguageServer, params: types.InitializedParams) -> None:
    """Request the settings, and notifications of changes to settings and files."""
    await configure(ls)
    registrations = [
        types.Registration(method, method, options)
        for method, capability, options in _REGISTRATIONS
        if ls.session.can(capability)
    ]
    if registrations:
        try:
            await ls.client_register_capability_async(types.RegistrationParams(registrations))
        except JsonRpcException as error:
            log.warning("the client refused to report changes to files or settings: %s", error)


_REGISTRATIONS = (
    (
        types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
        "workspace.did_change_watched_files.dynamic_registration",
        types.DidChangeWatchedFilesRegistrationOptions(WATCHERS),
    ),
    (
        types.WORKSPACE_DID_CHANGE_CONFIGURATION,
        "workspace.did_change_configuration.dynamic_registration",
        types.DidChangeConfigurationRegistrationOptions(SECTION),
    ),
)
"""What the server registers with clients: method, the client capability that it requires, options."""


@server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
async def did_change_configuration(ls: FxLanguageServer, params: types.DidChangeConfigurationParams) -> None:
    """Request the settings again: clients that support this request send nothing useful in the notification."""
    await configure(ls, params.settings)


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
def did_open(ls: FxLanguageServer, params: types.DidOpenTextDocumentParams) -> None:
    """The client has opened a document."""
    document = params.text_document
    path = ls.session.places.path(document.uri)
    if path and document.language_id == "python":
        ls.session.opened(path, document.text, document.version)


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
def did_change(ls: FxLanguageServer, params: types.DidChangeTextDocumentParams) -> None:
    """The client has edited a document."""
    path = ls.session.places.path(params.text_document.uri)
    if path and ls.session.documents.is_open(path):
        ls.session.edited(path, params.content_changes, params.text_document.version)


@server.feature(types.TEXT_DOCUMENT_DID_SAVE)
def did_save(ls: FxLanguageServer, params: types.DidSaveTextDocumentParams) -> None:
    """The client has saved a document."""
    ls.session.saved(params.text_document.uri)


@server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
def did_close(ls: FxLanguageServer, params: types.DidCloseTextDocumentParams) -> None:
    """The client has closed a document."""
    path = ls.session.places.path(params.text_document.uri)
    if path and ls.session.documents.is_open(path):
        ls.session.closed(path)


@server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
def did_open_notebook(ls: FxLanguageServer, params: types.DidOpenNotebookDocumentParams) -> None:
    """The client has opened a notebook."""
    ls.session.notebook_opened(params)


@server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
def did_change_notebook(ls: FxLanguageServer, params: types.DidChangeNotebookDocumentParams) -> None:
    """The client has edited, added, removed or moved cells, or changed something else about a notebook."""
    ls.session.notebook_changed(params)


@server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
def did_save_notebook(ls: FxLanguageServer, params: types.DidSaveNotebookDocumentParams) -> None:
    """The client has saved a notebook."""
    ls.session.saved(params.notebook_document.uri)


@server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
def did_close_notebook(ls: FxLanguageServer, params: types.DidCloseNotebookDocumentParams) -> None:
    """The client has closed a notebook."""
    ls.session.notebook_closed(params.notebook_document.uri)


@server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
def did_change_watched_files(ls: FxLanguageServer, params: types.DidChangeWatchedFilesParams) -> None:
    """Files have changed on disk."""
    ls.session.changed_on_disk(params.changes)


@server.feature(types.WORKSPACE_DID_CREATE_FILES, OPERATIONS)
def did_create_files(ls: FxLanguageServer, params: types.CreateFilesParams) -> None:
    """The user has created Python files or folders."""
    ls.session.files_moved()


@server.feature(types.WORKSPACE_DID_RENAME_FILES, OPERATIONS)
def did_rename_files(ls: FxLanguageServer, params: types.RenameFilesParams) -> None:
    """The user has renamed Python files or folders."""
    ls.session.files_moved()


@server.feature(types.WORKSPACE_DID_DELETE_FILES, OPERATIONS)
def did_delete_files(ls: FxLanguageServer, params: types.DeleteFilesParams) -> None:
    """The user has deleted Python files or folders."""
    ls.session.files_moved()


@server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
async def did_change_workspace_folders(ls: FxLanguageServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Workspace folders were added or removed; they may have their own settings."""
    ls.session.set_folders([folder.uri for folder in ls.workspace.folders.values()])
    if ls.session.can("workspace.configuration"):
        await configure(ls)


@server.feature(types.TEXT_DOCUMENT_HOVER)
def show_hover(ls: FxLanguageServer, params: types.HoverParams) -> types.Hover | None:
    """The hover text for the code under the pointer."""
    session = ls.session
    path, offset = _at(session, params)
    if path is None or offset is None or not session.settings.hover:
        return None
    text = directive_hover(session.documents, path, offset) or hover(
        session.engine.scheduler,
        session.engine.descriptions,
        session.outlines,
        session.places,
        path,
        offset,
        shapes=session.settings.shapes != "off",
        costs=session.engine.costs if session.settings.costs != "off" else None,
    )
    formats = get_capability(session.capabilities, "text_document.hover.content_format", [])
    kind = types.MarkupKind.Markdown if types.MarkupKind.Markdown in formats else types.MarkupKind.PlainText
    return types.Hover(types.MarkupContent(kind, text)) if text else None


@server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=KINDS))
async def code_action(ls: FxLanguageServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The fixes for the diagnostics at a place, refactorings of the code there, and all proven fixes of the file."""
    if not ls.session.can("text_document.code_action.code_action_literal_support"):
        return []  # such a client only accepts commands of the server
    session = ls.session
    takes = Takes(
        versions=session.can("workspace.workspace_edit.document_changes"),
        disabled=session.can("text_document.code_action.disabled_support"),
    )
    actions = await code_actions(session.engine.scheduler, session.engine.proofs, session.places, params, takes)
    if not session.can("text_document.code_action.is_preferred_support"):
        for action in actions:
            action.is_preferred = None
    return actions


def pull_diagnostics(
    ls: FxLanguageServer, params: types.DocumentDiagnosticParams
) -> types.RelatedFullDocumentDiagnosticReport:
    """The diagnostics of a document that are known so far, for clients that pull them."""
    return types.RelatedFullDocumentDiagnosticReport(ls.session.publisher.current(params.text_document.uri))


@server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[":", " ", "[", ","]))
def completion(ls: FxLanguageServer, params: types.CompletionParams) -> list[types.CompletionItem]:
    """Completions in a ``# fx:`` comment."""
    path, offset = _at(ls.session, params)
    if path is None or offset is None:
        return []
    return completions(ls.session.documents, path, offset, params.position)


@server.feature(types.TEXT_DOCUMENT_DOCUMENT_LINK, types.DocumentLinkOptions(resolve_provider=False))
def document_link(ls: FxLanguageServer, params: types.DocumentLinkParams) -> list[types.DocumentLink]:
    """Links from the rules' codes in comments to the rules' pages."""
    tooltips = ls.session.can("text_document.document_link.tooltip_support")
    return links(ls.session.documents, ls.session.places, params.text_document.uri, tooltips=tooltips)


@server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=False))
def code_lens(ls: FxLanguageServer, params: types.CodeLensParams) -> list[types.CodeLens]:
    """The result of each target, shown above it."""
    session = ls.session
    if not session.settings.code_lens:
        return []
    uri = params.text_document.uri
    costs = session.engine.costs if session.settings.costs == "always" else None
    return code_lenses(session.engine.scheduler, session.outlines, session.places, uri, session.commands, costs)


@server.feature(types.TEXT_DOCUMENT_INLAY_HINT, types.InlayHintOptions(resolve_provider=False))
def inlay_hint(ls: FxLanguageServer, params: types.InlayHintParams) -> list[types.InlayHint]:
    """The shapes of assigned and returned values."""
    session = ls.session
    if session.settings.shapes != "always":
        return []
    uri = params.text_document.uri
    return inlay_hints(session.engine.descriptions, session.documents, session.places, uri, params.range)


@server.feature(TARGETS)
def targets(ls: FxLanguageServer, params: Any) -> list[dict[str, Any]]:
    """The targets (what fx-lsp traces) in a document."""
    path = ls.session.places.path(params.textDocument.uri)
    return ls.session.views.targets(path) if path else []


@server.feature(FORWARD)
def forward(ls: FxLanguageServer, params: Any) -> dict[str, Any] | None:
    """The generated forward of a target or, if the parameters name the capture ``export``, the exported program."""
    views = ls.session.views
    view = views.exported if getattr(params, "capture", None) == "export" else views.forward
    return view(params.textDocument.uri, *_chosen(params))


@server.feature(MODULE)
def module(ls: FxLanguageServer, params: Any) -> dict[str, Any] | None:
    """The generated forward of a target, as a module."""
    return ls.session.views.module(params.textDocument.uri, *_chosen(params))


@server.feature(GRAPH)
def graph(ls: FxLanguageServer, params: Any) -> dict[str, Any] | None:
    """The graph of a target, for the input or the capture that the parameters name, if they name one."""
    views, capture = ls.session.views, getattr(params, "capture", None)
    if capture in ("export", "compile"):
        return views.captured_graph(params.textDocument.uri, *_chosen(params), capture)
    inputs = getattr(params, "inputs", None)
    return views.graph(params.textDocument.uri, *_chosen(params), inputs=inputs if isinstance(inputs, str) else "")


def _at(session: ClientSession, params: types.HoverParams | types.CompletionParams) -> tuple[str | None, int | None]:
    uri = params.text_document.uri
    return session.places.path(uri), session.places.offset(uri, params.position)


def _chosen(params: Any) -> tuple[str | None, types.Position | None]:
    """The target's key, or the position, that a request for a view contains."""
    position = getattr(params, "position", None)
    return getattr(params, "target", None), types.Position(position.line, position.character) if position else None


@server.feature(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
def cancel_progress(ls: FxLanguageServer, params: types.WorkDoneProgressCancelParams) -> None:
    """Stop all traces, because the user has cancelled the progress."""
    ls.session.engine.scheduler.cancel()


@server.feature("fx/interpreterChanged")
def interpreter_changed(ls: FxLanguageServer, params: Any) -> None:
    """The user has selected another Python: ``{"interpreter": [word, …] | null, "folder": uri | null}``."""
    folder = getattr(params, "folder", None)
    ls.session.select_interpreter(ls.session.places.path(folder) if folder else None, params.interpreter)
    ls.session.engine.scheduler.trace_all()


@server.feature("fx/trustGranted")
async def trust_granted(ls: FxLanguageServer, params: Any) -> None:
    """The user has marked the workspace as trusted; the client may have withheld settings until then."""
    if ls.session.can("workspace.configuration"):
        await configure(ls)
    ls.session.trust()


@attrs.frozen
class LensArgument:
    """The part of the argument of a lens's command that the server needs."""

    uri: str
    target: str
    """The target's key."""


@server.command("fxLsp.restartAgent")
def restart_agent(ls: FxLanguageServer, *arguments: Any) -> None:
    """Restart the tracing processes. Arguments that clients add to commands are ignored."""
    ls.session.engine.restart_agents()


@server.command("fxLsp.traceFile")
def trace_file(ls: FxLanguageServer, *arguments: Any) -> None:
    """Trace again, from scratch, the open document whose URI is the first argument."""
    uri = arguments[0] if arguments else None
    path = ls.session.places.path(uri) if isinstance(uri, str) else None
    if path and ls.session.documents.is_open(path):
        ls.session.engine.trace_anew(path)


@server.command("fxLsp.tryCaptures")
def try_captures(ls: FxLanguageServer, argument: LensArgument) -> None:
    """Make every capture of the target whose lens was clicked, now and after each edit."""
    path = ls.session.places.path(argument.uri)
    if path and ls.session.documents.is_open(path):
        ls.session.engine.idle_captures.want(path, argument.target)


@server.command("fxLsp.pause")
def pause(ls: FxLanguageServer, *arguments: Any) -> None:
    """Stop tracing, except for files that ``fxLsp.traceFile`` names."""
    ls.session.set_paused(True)


@server.command("fxLsp.resume")
def resume(ls: FxLanguageServer, *arguments: Any) -> None:
    """Trace again, beginning with what has changed."""
    ls.session.set_paused(False)


@server.feature(types.SHUTDOWN)
async def shutdown(ls: FxLanguageServer, params: None) -> None:
    """End the tracing processes, then answer the client."""
    await ls.session.close()
