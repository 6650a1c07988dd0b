"""An editor, as a language server sees one: a real server process, documents, and what the server says to them."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES

from fx_lsp.documents.positions import Encoding, LineIndex, Position

PATIENCE = 300.0
"""Seconds that a test waits for something before it counts as never to come."""

ROOT = Path(__file__).parents[2]

SERVER = (sys.executable, "-m", "fx_lsp")
"""How an editor starts the server; from ``ROOT``, so that it is this checkout's."""


class Editor:
    """Counts positions in ``encoding``; starts the server for one workspace ``folder``."""

    def __init__(self, folder: Path, *, encoding: Encoding = "utf-16") -> None:
        self.folder = folder
        self.encoding: Encoding = encoding
        self.client = LanguageClient(converter_factory=_converter)
        self.published: dict[str, types.PublishDiagnosticsParams] = {}
        """By file name, what was published last."""
        self.publications: list[tuple[str, int, list[types.Diagnostic]]] = []
        """Everything that was published: the file name, the version of the text then, the diagnostics."""
        self.statuses: list[Any] = []
        self.changes: list[Any] = []
        """What ``fx/changed`` told."""
        self.registered: list[str] = []
        self._settings: dict[str, Any] = {}
        self._open: set[str] = set()
        self._texts: dict[str, str] = {}
        """Of the documents that are open, and of those that were."""
        self._versions: dict[str, int] = {}
        self._news = asyncio.Condition()
        self._register()

    @property
    def server(self) -> asyncio.subprocess.Process:
        process = self.client._server
        assert process is not None
        return process

    @contextlib.asynccontextmanager
    async def session(
        self,
        *,
        python: Sequence[str] = (sys.executable,),
        settings: Mapping[str, Any] | None = None,
        pulls: bool = True,
        options: Mapping[str, Any] | None = None,
        roots: Sequence[str] = ("",),
    ) -> AsyncIterator["Editor"]:
        """The server, from ``initialize`` to its orderly end."""
        await self.start(python=python, settings=settings, pulls=pulls, options=options, roots=roots)
        try:
            yield self
        finally:
            if self.server.returncode is None:
                await asyncio.wait_for(self.client.shutdown_session(), PATIENCE)

    async def start(
        self,
        *,
        python: Sequence[str] = (sys.executable,),
        settings: Mapping[str, Any] | None = None,
        pulls: bool = True,
        options: Mapping[str, Any] | None = None,
        roots: Sequence[str] = ("",),
    ) -> types.InitializeResult:
        """Start the server; ``python`` is the interpreter that is selected in the editor.

        ``pulls``: the server can ask for settings; else it is told them at the start. ``options``: what else the client
        says of itself. ``roots``: the workspace folders, below ``folder``.
        """
        self._settings = dict(settings or {})
        self.client.set_configuration({"fxLsp": self._settings})
        await self.client.start_io(*SERVER, cwd=ROOT)
        return await self.client.initialize_session(
            types.InitializeParams(
                capabilities=capabilities(self.encoding, pulls=pulls),
                initialization_options={
                    "status": True,
                    "interpreter": list(python),
                    **({} if pulls else dict(settings or {})),
                    **(options or {}),
                },
                workspace_folders=[types.WorkspaceFolder(self.uri(root), root or "work") for root in roots],
            )
        )

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")

    def open(self, name: str, text: str) -> None:
        """Write a file and open it."""
        self.write(name, text)
        self.show(name, text)

    def show(self, name: str, text: str) -> None:
        """Open a file that has this text."""
        self._texts[name], self._versions[name] = text, 1
        self._open.add(name)
        document = types.TextDocumentItem(self.uri(name), "python", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def close(self, name: str) -> None:
        self._open.discard(name)
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(self._identifier(name)))

    async def clear(self) -> None:
        """Close every document, empty the folder and forget what the server has sent: another test begins."""
        for name in [*self._open]:
            self.close(name)
        gone = [path for path in self.folder.rglob("*") if path.is_file() and ".git" not in path.parts]
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.tell_of_files(*(path.relative_to(self.folder).as_posix() for path in gone), how="Deleted")
        await self.configure()
        sent = (self.published, self.publications, self.statuses, self.changes)
        for kept in (self._texts, self._versions, *sent):
            kept.clear()

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace the first ``old`` with ``new``, without saving."""
        start = self._texts[name].index(old)
        self._apply(name, [types.TextEdit(self._range(name, start, start + len(old)), new)])

    def replace(self, name: str, start: int, end: int, new: str) -> None:
        """Put ``new`` in the place of ``text[start:end]``, without saving."""
        self._apply(name, [types.TextEdit(self._range(name, start, end), new)])

    def save(self, name: str) -> None:
        """Write a document's text to its file, and tell the server."""
        self.write(name, self._texts[name])
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(self._identifier(name)))

    def apply(self, action: types.CodeAction) -> None:
        """Take a code action."""
        assert action.edit is not None
        for change in action.edit.document_changes or []:
            assert isinstance(change, types.TextDocumentEdit)
            name = self._name(change.text_document.uri)
            assert change.text_document.version == self._versions[name]
            self._apply(name, [edit for edit in change.edits if isinstance(edit, types.TextEdit)])

    def text(self, name: str, found: types.Range | None = None) -> str:
        """The text of a document, or of a range in it."""
        text = self._texts[name]
        return text[self._offset(name, found.start) : self._offset(name, found.end)] if found else text

    def tell_of_files(self, *names: str, how: Literal["Created", "Changed", "Deleted"] = "Changed") -> None:
        """Tell the server what has happened to files, as an editor that watches the folder does."""
        changes = [types.FileEvent(self.uri(name), types.FileChangeType[how]) for name in names]
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes))

    async def configure(self, **settings: Any) -> None:
        """Use the settings that the session began with, except for these."""
        self.client.set_configuration({"fxLsp": {**self._settings, **settings}})
        self.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        await self.settled()

    async def diagnostics(self, name: str) -> list[types.Diagnostic]:
        """What the server says of the document's current text."""
        await self.until(lambda: self._is_current(name))
        return list(self.published[name].diagnostics)

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait for messages of the server until something has happened."""
        async with self._news:
            await asyncio.wait_for(self._news.wait_for(happened), PATIENCE)

    async def hover(self, name: str, at: str) -> str:
        """The hover at the first ``at`` in a document; empty when there is none."""
        position = self._range(name, self._texts[name].index(at), 0).start
        params = types.HoverParams(self._identifier(name), position)
        hover = await asyncio.wait_for(self.client.text_document_hover_async(params), PATIENCE)
        if hover is None:
            return ""
        assert isinstance(hover.contents, types.MarkupContent)
        return hover.contents.value

    async def lenses(self, name: str) -> list[types.CodeLens]:
        """The lenses of a document."""
        params = types.CodeLensParams(self._identifier(name))
        lenses = await asyncio.wait_for(self.client.text_document_code_lens_async(params), PATIENCE)
        return list(lenses or [])

    async def hints(self, name: str) -> dict[str, str]:
        """The inlay hints of a document: the text of the line up to each, and the hint."""
        text = self._texts[name]
        params = types.InlayHintParams(self._identifier(name), self._range(name, 0, len(text)))
        hints = await asyncio.wait_for(self.client.text_document_inlay_hint_async(params), PATIENCE) or []
        shown: dict[str, str] = {}
        for hint in hints:
            assert not isinstance(hint.label, str)
            assert all(part.location for part in hint.label), "a click leads to what was traced"
            line = text[: self._offset(name, hint.position)].split("\n")[-1].strip()
            shown[line] = "".join(part.value for part in hint.label)
        return shown

    async def ask(self, method: str, params: Any) -> Any:
        """The answer to a request that is not part of LSP."""
        return await asyncio.wait_for(asyncio.wrap_future(self.client.protocol.send_request(method, params)), PATIENCE)

    async def settled(self) -> None:
        """Wait until the server has dealt with all that it was told, and what it asked."""
        for _ in range(3):
            await self.ask("fx/targets", {"textDocument": {"uri": self.uri("")}})

    async def described(self, name: str, *nodes: str) -> None:
        """Wait until the server knows the value of each of ``nodes`` in the current graph of any target."""
        document = self.document(name)

        async def poll() -> None:
            known: set[str] = set()
            while not known.issuperset(nodes):
                await asyncio.sleep(0.05)
                keys = [target["key"] for target in await self.ask("fx/targets", document)]
                graphs = [await self.ask("fx/graph", {**document, "target": key}) for key in keys]
                known = {node.name for graph in graphs if not graph.stale for node in graph.nodes if node.value}

        await asyncio.wait_for(poll(), PATIENCE)

    def document(self, name: str) -> dict[str, Any]:
        """The parameter of a request about a document."""
        return {"textDocument": {"uri": self.uri(name)}}

    async def quick_fixes(self, name: str, *diagnostics: types.Diagnostic) -> list[types.CodeAction]:
        """The quick fixes for diagnostics of a document."""
        context = types.CodeActionContext(diagnostics)
        params = types.CodeActionParams(self._identifier(name), diagnostics[0].range, context)
        actions = await asyncio.wait_for(self.client.text_document_code_action_async(params), PATIENCE)
        return [action for action in actions or [] if isinstance(action, types.CodeAction)]

    def agents(self) -> list[int]:
        """The process ids of the server's children."""
        children = Path(f"/proc/{self.server.pid}/task/{self.server.pid}/children").read_text()
        return [int(word) for word in children.split()]

    def kill_agents(self) -> None:
        for agent in self.agents():
            os.kill(agent, signal.SIGKILL)

    def _register(self) -> None:
        """Hear what the server sends."""
        handlers: dict[str, Callable[[Any], Any]] = {
            **{method: self._bound(handler) for method, handler in DEFAULT_CLIENT_FEATURES.items()},
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: self._on_publish,
            types.CLIENT_REGISTER_CAPABILITY: self._on_register,
            "fxLsp/status": self.statuses.append,
            "fx/changed": self.changes.append,
        }
        for method, handler in handlers.items():
            self.client.feature(method)(self._announcing(handler))

    def _bound(self, handler: Callable[..., Any]) -> Callable[[Any], Any]:
        return lambda params: handler(self.client, params)

    def _announcing(self, handler: Callable[[Any], Any]) -> Callable[[Any], Any]:
        async def handle(params: Any) -> Any:
            async with self._news:
                result = handler(params)
                self._news.notify_all()
                return result

        return handle

    def _on_publish(self, params: types.PublishDiagnosticsParams) -> None:
        name = self._name(params.uri)
        self.published[name] = params
        self.publications.append((name, self._versions.get(name, 0), list(params.diagnostics)))

    def _on_register(self, params: types.RegistrationParams) -> None:
        self.registered += [registration.method for registration in params.registrations]

    def _is_current(self, name: str) -> bool:
        return name in self.published and self.published[name].version == self._versions[name]

    def _identifier(self, name: str) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri(name))

    def _name(self, uri: str) -> str:
        return uri.removeprefix(self.folder.as_uri() + "/")

    def _apply(self, name: str, edits: Sequence[types.TextEdit]) -> None:
        """Make edits that refer to one text, the last first, and tell the server."""
        self._versions[name] += 1
        changes: list[types.TextDocumentContentChangeEvent] = []
        for edit in sorted(edits, key=lambda edit: (edit.range.start.line, edit.range.start.character), reverse=True):
            text = self._texts[name]
            start, end = self._offset(name, edit.range.start), self._offset(name, edit.range.end)
            self._texts[name] = text[:start] + edit.new_text + text[end:]
            changes.append(types.TextDocumentContentChangePartial(edit.range, edit.new_text))
        self._tell(types.VersionedTextDocumentIdentifier(self._versions[name], self.uri(name)), changes)

    def _tell(
        self,
        identifier: types.VersionedTextDocumentIdentifier,
        changes: Sequence[types.TextDocumentContentChangeEvent],
    ) -> None:
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, changes))

    def _offset(self, name: str, position: types.Position) -> int:
        return LineIndex(self._texts[name]).offset_of_client(Position(position.line, position.character), self.encoding)

    def _range(self, name: str, start: int, end: int) -> types.Range:
        lines = LineIndex(self._texts[name])
        first, last = (types.Position(*lines.position(offset, self.encoding)) for offset in (start, end))
        return types.Range(first, last)


def _converter() -> Any:
    """pygls's, which can't read what a server wants to hear of notebooks."""
    converter = default_converter()  # type: ignore[no-untyped-call]
    converter.register_structure_hook(types.NotebookDocumentFilterWithCells, lambda value, _: value)
    return converter


def capabilities(encoding: Encoding, *, pulls: bool) -> types.ClientCapabilities:
    """What VS Code can, as far as it matters here, with another way of counting characters."""
    dynamic = types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)
    return types.ClientCapabilities(
        notebook_document=types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities()),
        general=types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind(encoding)]),
        text_document=types.TextDocumentClientCapabilities(
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(
                related_information=True, code_description_support=True, data_support=True
            ),
            code_action=types.CodeActionClientCapabilities(
                disabled_support=True,
                is_preferred_support=True,
                code_action_literal_support=types.ClientCodeActionLiteralOptions(
                    types.ClientCodeActionKindOptions([types.CodeActionKind.QuickFix])
                ),
            ),
            hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown]),
        ),
        workspace=types.WorkspaceClientCapabilities(
            configuration=pulls,
            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
            did_change_watched_files=dynamic,
        ),
    )
