"""One client's session, from ``initialize`` to ``shutdown``: what it can, what it chose, and the rooms put together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.progress import Progress

from fx_lsp.agent_pool import AgentPool, TracingAgent
from fx_lsp.agents import Agent, AgentState
from fx_lsp.analysis import Analysis
from fx_lsp.cache import Cache, cache_folder
from fx_lsp.config import Settings
from fx_lsp.descriptions import Descriptions
from fx_lsp.documents import Documents
from fx_lsp.features import notebooks
from fx_lsp.features.diagnostics import DiagnosticsPublisher, Shows
from fx_lsp.features.outline import Outlines
from fx_lsp.features.places import ClientPlaces, change_of
from fx_lsp.features.progress import TracingProgress
from fx_lsp.features.project import ProjectPublisher
from fx_lsp.features.refresh import REFRESHES, Refresher
from fx_lsp.features.status import STATUS, AgentLog, status
from fx_lsp.features.views import CHANGED, Views
from fx_lsp.interpreter import Interpreter, choose
from fx_lsp.positions import Encoding
from fx_lsp.project import FILE, project_of
from fx_lsp.proofs import Proofs
from fx_lsp.remembering import RememberingAgent
from fx_lsp.workspace import Workspace

log = logging.getLogger(__name__)

UNTRUSTED = "this workspace is not trusted"
"""Why nothing of a workspace is run that the user has not marked as trusted."""

_ENCODINGS: dict[str, Encoding] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}


class Session:
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
        """``encoding`` is how positions are counted; ``notify`` sends a notification of our own, ``ask`` a
        request without parameters."""
        self.capabilities = params.capabilities
        options = params.initialization_options
        self.options: Mapping[str, Any] = options if isinstance(options, Mapping) else {}
        self.settings = Settings()
        """Those of the editor's window."""
        self._settings_in: Mapping[str, Settings] = {}
        """Workspace folder -> its own settings, for clients that keep such."""
        self.selected: dict[str | None, tuple[str, ...]] = {}
        """Workspace folder (None: any) -> the Python that is selected in the editor."""
        self.select_interpreter(None, self.options.get("interpreter"))
        self.documents = Documents(_ENCODINGS[encoding])
        self.places = ClientPlaces(self.documents)
        uris = [folder.uri for folder in params.workspace_folders or []]
        self.workspace = Workspace(self._paths(uris or [params.root_uri or ""]))
        self.agents = AgentPool(self._interpreter, self._start_agent)
        self.analysis = Analysis(self.documents, self.workspace, self.agents.agent_for, self.settings_of)
        self.analysis.held_back = UNTRUSTED if self.options.get("trusted") is False else ""
        self.publisher = DiagnosticsPublisher(
            self.analysis,
            self.places,
            (lambda params: None) if self.pulls_diagnostics else publish,
            Shows(
                related=self._can_show("related_information"),
                described=self._can_show("code_description_support"),
                data=self._can_show("data_support"),
            ),
        )
        self.projects = ProjectPublisher(self.places, publish)
        self.proofs = Proofs(self.analysis, self.agents.agent_for)
        self.descriptions = Descriptions(self.analysis, self.agents.agent_for)
        self.outlines = Outlines(self.documents)
        self.views = Views(self.analysis, self.descriptions, self.outlines, self.places)
        self.refresher = Refresher(self._refreshes(), ask)
        self.analysis.on_result = self._on_result
        self.descriptions.on_described = self._on_described
        self.configured = False
        """Whether the settings are known; nothing is traced before, lest it be with another Python than was chosen."""
        self._notify = notify
        self._agent_log = AgentLog(log_to_client)
        self._progress = TracingProgress(progress)

    @property
    def commands(self) -> frozenset[str]:
        """The commands that the client says it has."""
        named = self.options.get("commands")
        return frozenset(map(str, named)) if isinstance(named, list | tuple) else frozenset()

    @property
    def pulls_diagnostics(self) -> bool:
        """Whether the client asks for diagnostics, and is sent none: it says so, or takes them in no other way."""
        wanted = self.options.get("diagnostics")
        published = self.can("text_document.publish_diagnostics")
        return self.can("text_document.diagnostic") and (wanted == "pull" or not published)

    def can(self, capability: str) -> bool:
        """Whether the client has a capability, e.g. ``workspace.configuration``."""
        return bool(get_capability(self.capabilities, capability, False))

    def _can_show(self, capability: str) -> bool:
        """Whether diagnostics may have something: clients say so of those that they are sent or, lately, ask for."""
        channels = ["publish_diagnostics", *(["diagnostic"] if self.pulls_diagnostics else [])]
        return any(self.can(f"text_document.{channel}.{capability}") for channel in channels)

    def configure(self, settings: Settings, in_folders: Mapping[str, Settings]) -> None:
        """Take the settings, the first ones or new ones, and trace with them; ``in_folders`` has them by folder."""
        if self.configured and (settings, in_folders) == (self.settings, self._settings_in):
            return
        before = self._agent_settings()
        self.settings, self._settings_in = settings, in_folders
        other_agents = before != self._agent_settings()
        logging.getLogger("fx_lsp").setLevel(settings.log_level.upper())
        if other_agents:
            self.agents.restart()
        self.configured = True
        for path in self.documents.paths:
            self.analysis.opened(path)

    def settings_of(self, path: str) -> Settings:
        """The settings for a file: the editor's, and for what it leaves as it is by default those of the project."""
        folder = self.workspace.folder_of(path)
        return self._settings_in.get(folder, self.settings).anchored(folder).over(project_of(path).settings)

    def select_interpreter(self, folder: str | None, command: Any) -> None:
        """Take the Python that is selected in the editor, for one folder or for all; nothing: there is none."""
        if not command:
            self.selected.pop(folder, None)
        elif isinstance(command, (list, tuple)) and all(isinstance(word, str) for word in command):
            self.selected[folder] = tuple(command)
        else:
            log.warning("the interpreter %r is not a command as a list of strings", command)

    def opened(self, path: str, text: str, version: int) -> None:
        """The client has opened a Python file."""
        self.documents.open(path, text, version)
        self._opened(path)

    def edited(self, path: str, changes: Sequence[types.TextDocumentContentChangeEvent], version: int) -> None:
        """The client has edited an open file."""
        self.documents.change(path, map(change_of, changes), version)
        self._edited(path)

    def closed(self, path: str) -> None:
        """The client has closed a file: what it did not save is gone."""
        self.documents.close(path)
        self.analysis.forget(path)
        self.analysis.changed_on_disk(path)

    def notebook_opened(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """The client has opened a notebook."""
        path = self.places.path(params.notebook_document.uri)
        if path:
            self.documents.open_notebook(path, notebooks.opened(params), params.notebook_document.version)
            self._opened(path)

    def notebook_changed(self, params: types.DidChangeNotebookDocumentParams) -> None:
        """The client has edited cells of a notebook, or added, removed or moved some."""
        path = self.places.path(params.notebook_document.uri)
        notebook = self.documents.notebooks.get(path) if path else None
        if path is None or notebook is None or params.change.cells is None:
            return
        notebooks.take(notebook, params.change.cells, self.documents.encoding)
        splice = notebook.lay_out()
        version = params.notebook_document.version
        if splice.start < splice.end or splice.text:
            self.documents.replace(path, splice.start, splice.end, splice.text, version)
            self._edited(path)
        else:
            self.documents.change(path, (), version)
            self.publisher.on_result(path, not self.analysis.is_tracing(path))

    def notebook_closed(self, uri: str) -> None:
        """The client has closed a notebook."""
        path = self.places.path(uri)
        if path in self.documents.notebooks:
            self.closed(path)

    def changed_on_disk(self, events: Sequence[types.FileEvent]) -> None:
        """Files were written, made or deleted by someone."""
        changed = {self.places.path(event.uri): event.type for event in events}
        if any(path and Path(path).name == FILE for path in changed):
            self.projects.refresh(self.documents.paths)
            self.analysis.trace_all()
            return
        own = {path: how for path, how in changed.items() if path and self._is_watched(path)}
        if all(how == types.FileChangeType.Changed for how in own.values()):
            for path in own:
                self.analysis.changed_on_disk(path)
        else:
            # Which import a new or a missing file makes or breaks can't be told from what was imported so far.
            self.analysis.trace_all()

    def set_folders(self, uris: list[str]) -> None:
        """Other folders are open in the editor."""
        self.workspace.set_folders(self._paths(uris))
        self.analysis.trace_all()

    def restart_agents(self) -> None:
        """End every tracing process and trace everything with new ones."""
        self.agents.restart()
        self.analysis.trace_all()

    def trace_anew(self, path: str) -> None:
        """Trace an open file from scratch, whatever is known of it."""
        if self.analysis.held_back:
            return
        agent = self.agents.agent_for(Path(self.workspace.folder_of(path)))
        if isinstance(agent, RememberingAgent):
            agent.forget(path)
        self.analysis.trace_anew(path)

    def trust(self) -> None:
        """The user trusts the workspace: what it holds may run from now on."""
        self.analysis.held_back = ""
        self.analysis.trace_all()

    async def close(self) -> None:
        """Stop all work and every tracing process."""
        await self.analysis.close()
        await self.proofs.close()
        await self.descriptions.close()
        self.refresher.close()
        await self.agents.close()

    def _opened(self, path: str) -> None:
        self.projects.refresh(self.documents.paths)
        if self.configured:
            self.analysis.opened(path)

    def _edited(self, path: str) -> None:
        if self.configured:
            self.proofs.pause()
            self.descriptions.pause()
            self.analysis.edited(path)

    def _on_result(self, path: str, complete: bool) -> None:
        self.publisher.on_result(path, complete)
        self.proofs.on_result(path, complete)
        self.descriptions.on_result(path, complete)
        result = self.analysis.results.get(path)
        self._views_changed(path, list(result.traced) if result else [])

    def _on_described(self, path: str, key: str) -> None:
        self._views_changed(path, [key])

    def _views_changed(self, path: str, keys: list[str]) -> None:
        self.refresher.refresh()
        if self.options.get("views"):
            for uri in self.places.uris(path):
                self._notify(CHANGED, {"textDocument": {"uri": uri}, "targets": keys})

    def _refreshes(self) -> list[str]:
        """The methods that ask the client to ask again for what it shows."""
        taken = [method for method, capability in REFRESHES.items() if self.can(capability)]
        return [method for method in taken if method != types.WORKSPACE_DIAGNOSTIC_REFRESH or self.pulls_diagnostics]

    def _is_watched(self, path: str) -> bool:
        """Whether what the disk has of a file matters: of an open one it does not, and installing is no editing."""
        return self.workspace.owns(path) and not self.documents.is_open(path)

    def _interpreter(self, folder: Path) -> Interpreter:
        selected = self.selected.get(str(folder)) or self.selected.get(None, ())
        return choose(folder, setting=self._settings_for(folder).interpreter, selected=selected)

    def _settings_for(self, folder: Path) -> Settings:
        return self.settings_of(str(folder / FILE))

    def _agent_settings(self) -> list[tuple[object, ...]]:
        """The settings that agents are started with."""
        everywhere = [self.settings, *(self._settings_for(Path(folder)) for folder in self.workspace.folders)]
        return [(settings.interpreter, settings.env, settings.cache) for settings in everywhere]

    def _start_agent(self, interpreter: Interpreter, folder: Path) -> TracingAgent:
        assert not self.analysis.held_back, "an agent runs a Python and code that may be the workspace's"
        command, settings = " ".join(interpreter.command), self._settings_for(folder)
        log.info("tracing the files of %s with %s, from %s", folder, command, interpreter.origin)

        def on_state(state: AgentState) -> None:
            if self.options.get("status"):
                self._notify(STATUS, status(state, interpreter))
            elif self.can("window.work_done_progress"):
                self._progress.note(folder, state.phase in ("starting", "busy"))
            self._agent_log.note(state, interpreter)

        agent = Agent(
            interpreter.command,
            cwd=folder,
            env=settings.env,
            log=lambda line: log.info("agent: %s", line),
            on_state=on_state,
        )
        if not settings.cache:
            return agent
        return RememberingAgent(agent, Cache(cache_folder()), interpreter.command, settings.env, warm=True)

    def _paths(self, uris: list[str]) -> list[str]:
        return [path for path in map(self.places.path, uris) if path]
