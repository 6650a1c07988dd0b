"""One client's session, from ``initialize`` to ``shutdown``: its capabilities and settings, and what is sent to it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.progress import Progress

from fx_lsp.analysis.engine import Engine
from fx_lsp.documents.positions import Encoding
from fx_lsp.interpreters.interpreter_choice import Interpreter
from fx_lsp.interpreters.project_environments import decides
from fx_lsp.server.features import notebook_sync
from fx_lsp.server.features.client_places import ClientPlaces, change_of, path_of
from fx_lsp.server.features.diagnostics import DiagnosticsPublisher, Shows
from fx_lsp.server.features.outline import Outlines
from fx_lsp.server.features.progress import TracingProgress
from fx_lsp.server.features.pyproject_diagnostics import ProjectPublisher
from fx_lsp.server.features.refresh import REFRESHES, Refresher
from fx_lsp.server.features.status import STATUS, AgentLog, AgentStates
from fx_lsp.server.features.views import CHANGED, Views
from fx_lsp.server.file_events import is_source, may_be_folder
from fx_lsp.settings.precedence import override
from fx_lsp.settings.pyproject import FILE, project_of
from fx_lsp.settings.settings import Settings
from fx_lsp.supervisor.supervised_agent import AgentState
from fx_lsp.workspace.disk_cache import Cache, cache_folder

log = logging.getLogger(__name__)

UNTRUSTED = "this workspace is not trusted"
"""Why nothing is traced in a workspace that the user has not marked as trusted."""

_ENCODINGS: dict[str, Encoding] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}


class ClientSession:
    """The state of the server while a client is connected."""

    def __init__(
        self,
        params: types.InitializeParams,
        encoding: str,
        *,
        publish: Callable[[types.PublishDiagnosticsParams], None],
        notify: Callable[[str, Any], None],
        ask: Callable[[str], object],
        log_to_client: Callable[[str], None],
        progress: Progress,
    ) -> None:
        """``encoding`` is the unit in which the client counts characters; ``notify`` sends a notification that is not
        part of LSP, ``ask`` a request without parameters."""
        self.capabilities = params.capabilities
        options = params.initialization_options
        self.options: Mapping[str, Any] = options if isinstance(options, Mapping) else {}
        self.settings = Settings()
        """The settings that apply to the editor's whole window."""
        self._settings_in: Mapping[str, Settings] = {}
        """Workspace folder -> its own settings, if the client has settings for each folder."""
        self._merged: dict[str, tuple[Settings, Settings]] = {}
        """Workspace folder -> the settings of the project last asked about there, without and with the editor's."""
        self.selected: dict[str | None, tuple[str, ...]] = {}
        """Workspace folder (None: any other) -> the Python that is selected in the editor; empty if none is."""
        self.select_interpreter(None, self.options.get("interpreter"))
        self.engine = Engine(
            self.settings_of,
            encoding=_ENCODINGS[encoding],
            selected=lambda folder: self.selected.get(str(folder), self.selected.get(None, ())),
            on_agent_state=self._on_agent_state,
            on_result=self._on_result,
            cache=Cache(cache_folder()),
            interactive=True,
        )
        self.engine.descriptions.on_described = lambda path, key: self._views_changed(path, [key])
        self.engine.capture_graphs.on_described = lambda path, key: self._views_changed(path, [key])
        self.engine.captures.on_captured = self._on_captured
        self.engine.costs.on_counted = self._on_counted
        self.engine.chosen_inputs.on_result_for_input = lambda path, key: self._views_changed(path, [key])
        self.engine.growth.on_told = self._on_counted
        self.engine.scheduler.held_back = UNTRUSTED if self.options.get("trusted") is False else ""
        self.documents = self.engine.documents
        self.places = ClientPlaces(self.documents)
        uris = [folder.uri for folder in params.workspace_folders or []]
        self.engine.workspace.set_folders(self._paths(uris or [params.root_uri or ""]))
        self.publisher = DiagnosticsPublisher(
            self.engine.scheduler,
            self.places,
            publish,
            Shows(
                related=self._can_show("related_information"),
                described=self._can_show("code_description_support"),
                data=self._can_show("data_support"),
            ),
        )
        self.projects = ProjectPublisher(self.places, publish)
        self.outlines = Outlines(self.documents)
        self.views = Views(
            self.engine.scheduler,
            self.engine.descriptions,
            self.engine.costs,
            self.engine.chosen_inputs,
            self.engine.capture_graphs,
            self.outlines,
            self.places,
        )
        self.refresher = Refresher(self._refreshes(), ask)
        self.configured = False
        """Whether the settings are known. Nothing is traced before that, because they may name another Python."""
        self.asked_settings: asyncio.Future[None] | None = None
        """The last request for the settings; earlier requests that are answered later don't count."""
        self._saved_early: dict[str, None] = {}
        """Documents that were saved before the settings were known, in order."""
        self._notify = notify
        self._agent_states = AgentStates()
        self._status: dict[str, Any] = {}
        """The status that was sent last."""
        self._agent_log = AgentLog(log_to_client)
        self._progress = TracingProgress(progress)

    @property
    def commands(self) -> frozenset[str]:
        """The commands that the client implements, according to its options."""
        named = self.options.get("commands")
        return frozenset(map(str, named)) if isinstance(named, list | tuple) else frozenset()

    @property
    def pulls_diagnostics(self) -> bool:
        """Whether the client pulls diagnostics: because its options say so, or because none can be published to it."""
        wanted = self.options.get("diagnostics")
        published = self.can("text_document.publish_diagnostics")
        return self.can("text_document.diagnostic") and (wanted == "pull" or not published)

    def can(self, capability: str) -> bool:
        """Whether the client has a capability, e.g. ``workspace.configuration``."""
        return bool(get_capability(self.capabilities, capability, False))

    def _can_show(self, capability: str) -> bool:
        """Whether the client shows an optional part of diagnostics, published or pulled."""
        channels = ["publish_diagnostics", *(["diagnostic"] if self.pulls_diagnostics else [])]
        return any(self.can(f"text_document.{channel}.{capability}") for channel in channels)

    def configure(self, settings: Settings, in_folders: Mapping[str, Settings]) -> None:
        """Apply the first settings, or changed ones, and trace with them.

        ``in_folders`` has the settings of those workspace folders that have their own.
        """
        if self.configured and (settings, in_folders) == (self.settings, self._settings_in):
            return
        self.settings, self._settings_in = settings, in_folders
        self._merged.clear()
        logging.getLogger("fx_lsp").setLevel(settings.log_level.upper())
        self.configured = True
        for path in self.documents.paths:
            self.engine.scheduler.opened(path)
        for path in [path for path in self._saved_early if self.documents.is_open(path)]:
            self.engine.scheduler.saved(path)
        self._saved_early.clear()

    def settings_of(self, path: str) -> Settings:
        """The settings for a file: the editor's, and the project's where an editor setting is left at its default."""
        folder, project = self.engine.workspace.folder_of(path), project_of(path).settings
        of_project, merged = self._merged.get(folder, (None, project))
        if of_project is not project:
            merged = override(project, self._settings_in.get(folder, self.settings).anchored(folder))
            self._merged[folder] = project, merged
        return merged

    def select_interpreter(self, folder: str | None, command: Any) -> None:
        """Use the Python ``command`` selected in the editor for ``folder``; if empty, none is selected there.

        None stands for every folder of which nothing else is said.
        """
        words = command or ()
        if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
            log.warning("ignoring the interpreter %r: it is not a list of strings", command)
            return
        self.selected[folder] = tuple(words)

    def opened(self, path: str, text: str, version: int) -> None:
        """Store and trace a Python file that the client has opened."""
        self.documents.open(path, text, version)
        self._opened(path)

    def edited(self, path: str, changes: Sequence[types.TextDocumentContentChangeEvent], version: int) -> None:
        """Apply the client's edits to an open file, and trace it."""
        self.documents.change(path, map(change_of, changes), version)
        self._edited(path)

    def saved(self, uri: str) -> None:
        """Trace a document that the client has saved, if it has to be traced then."""
        path = self.places.path(uri)
        if path and not self.configured:
            self._saved_early[path] = None
        elif path and self.documents.is_open(path):
            self.engine.scheduler.saved(path)

    def set_paused(self, paused: bool) -> None:
        """Stop tracing until the user asks for it again, or go on."""
        (self.engine.pause if paused else self.engine.resume)()
        self._show_status()

    def closed(self, path: str) -> None:
        """Drop the text and the result of a file that the client has closed."""
        self.engine.closed(path)
        self.projects.refresh(self.documents.paths)

    def notebook_opened(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """Store and trace a notebook that the client has opened."""
        path = self.places.path(params.notebook_document.uri)
        if path:
            self.documents.open_notebook(path, notebook_sync.opened(params), params.notebook_document.version)
            self._opened(path)

    def notebook_changed(self, params: types.DidChangeNotebookDocumentParams) -> None:
        """Apply the client's changes to a notebook's cells, and trace the notebook if its code has changed."""
        path = self.places.path(params.notebook_document.uri)
        notebook = self.documents.notebooks.get(path) if path else None
        if path is None or notebook is None or params.change.cells is None:
            return
        notebook_sync.take(notebook, params.change.cells, self.documents.encoding)
        splice = notebook.lay_out()
        version = params.notebook_document.version
        if splice.start < splice.end or splice.text:
            self.documents.replace(path, splice.start, splice.end, splice.text, version)
            self._edited(path)
        else:
            self.documents.change(path, (), version)
            self._publish(path, not self.engine.scheduler.is_tracing(path))

    def notebook_closed(self, uri: str) -> None:
        """Drop the text and the result of a notebook that the client has closed."""
        path = self.places.path(uri)
        if path in self.documents.notebooks:
            self.closed(path)

    def changed_on_disk(self, events: Sequence[types.FileEvent]) -> None:
        """Trace the files that may be affected because other files were written, created or deleted on disk."""
        workspace = self.engine.workspace
        changed = {path: event for event in events if (path := path_of(event.uri))}
        if any(PurePath(path).name == FILE or may_be_folder(event, path, workspace) for path, event in changed.items()):
            self.files_moved()
            return
        if any(map(decides, changed)):
            self.engine.interpreters_may_have_changed()
        own = [event for path, event in changed.items() if is_source(path) and workspace.owns(path)]
        if any(event.type != types.FileChangeType.Changed for event in own):
            # What was imported so far does not show which imports a new file makes possible or a deleted one breaks.
            self.engine.scheduler.trace_all()
            return
        paths = self._paths([event.uri for event in own])
        written = [path for path in paths if not self.documents.is_open(path)]
        for path in written:
            self.engine.scheduler.trace_dependants(path)
        if written:
            self.engine.idle_captures.begin_anew()

    def files_moved(self) -> None:
        """Trace everything again: files or whole folders have other names now, or are new or gone.

        A folder may have the settings or the Python of a project, and modules that could not be imported until now.
        """
        self.engine.forget_interpreters()
        self.projects.refresh(self.documents.paths)
        self.engine.scheduler.trace_all()

    def set_folders(self, uris: list[str]) -> None:
        """Replace the workspace folders, and trace everything again."""
        self.engine.set_folders(self._paths(uris))
        self.projects.refresh(self.documents.paths)

    def trust(self) -> None:
        """Start to trace: the user trusts the workspace, so its code may run from now on."""
        self.engine.scheduler.held_back = ""
        self.engine.scheduler.trace_all()

    async def close(self) -> None:
        """Stop all work and every tracing process."""
        self.refresher.close()
        await self.engine.close()

    def _opened(self, path: str) -> None:
        self.projects.refresh(self.documents.paths)
        if self.configured:
            self.engine.scheduler.opened(path)

    def _edited(self, path: str) -> None:
        if not self.configured:
            return
        result = self.engine.results.get(path)
        was_shown = result is not None and result.moment is not None
        self.engine.edited(path)
        if result and was_shown and not self.engine.scheduler.is_tracing(path):
            self._views_changed(path, list(result.traced))  # from now on, they are stale

    def _publish(self, path: str, complete: bool) -> None:
        if not self.pulls_diagnostics:
            self.publisher.on_result(path, complete)

    def _on_result(self, path: str, complete: bool) -> None:
        self._publish(path, complete)
        result = self.engine.results.get(path)
        self._views_changed(path, list(result.traced) if result else [])

    def _on_captured(self, path: str) -> None:
        self.engine.capture_graphs.on_captured(path)
        self._on_result(path, not self.engine.scheduler.is_tracing(path))

    def _on_counted(self, path: str, key: str) -> None:
        self._publish(path, not self.engine.scheduler.is_tracing(path))
        self._views_changed(path, [key])

    def _views_changed(self, path: str, keys: list[str]) -> None:
        self.refresher.refresh()
        if self.options.get("views"):
            for uri in self.places.uris(path):
                self._notify(CHANGED, {"textDocument": {"uri": uri}, "targets": keys})

    def _refreshes(self) -> list[str]:
        taken = [method for method, capability in REFRESHES.items() if self.can(capability)]
        return [method for method in taken if method != types.WORKSPACE_DIAGNOSTIC_REFRESH or self.pulls_diagnostics]

    def _on_agent_state(self, state: AgentState, interpreter: Interpreter, folder: Path) -> None:
        self._agent_states.note(folder, interpreter, state)
        self._show_status()
        if not self.options.get("status") and self.can("window.work_done_progress"):
            self._progress.note((folder, interpreter.command), state.phase in ("starting", "busy"))
        self._agent_log.note(state, interpreter)

    def _show_status(self) -> None:
        if self.options.get("status"):
            paused, loaded = self.engine.scheduler.paused, self.engine.scheduler.is_loaded()
            status = self._agent_states.status(paused=paused, loaded=loaded)
            if status != self._status:
                self._status = status
                self._notify(STATUS, status)

    def _paths(self, uris: list[str]) -> list[str]:
        return [path for path in map(self.places.path, uris) if path]
