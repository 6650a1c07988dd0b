"""A client that speaks the protocol by hand and takes nothing that it has not announced."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.lsp.editor import PATIENCE, ROOT, SERVER

Json = dict[str, Any]

NEEDS = {
    "workspace/configuration": "workspace.configuration",
    "workspace/codeLens/refresh": "workspace.codeLens.refreshSupport",
    "workspace/inlayHint/refresh": "workspace.inlayHint.refreshSupport",
    "workspace/diagnostic/refresh": "workspace.diagnostics.refreshSupport",
    "textDocument/publishDiagnostics": "textDocument.publishDiagnostics",
    "window/workDoneProgress/create": "window.workDoneProgress",
    "$/progress": "window.workDoneProgress",
    "fxLsp/status": "status",
    "fx/changed": "views",
}
"""What the server may send, and the capability, or the option of ours, that it takes."""

REGISTRATIONS = {
    "workspace/didChangeWatchedFiles": "workspace.didChangeWatchedFiles.dynamicRegistration",
    "workspace/didChangeConfiguration": "workspace.didChangeConfiguration.dynamicRegistration",
}

ALWAYS = {"window/logMessage"}
"""What every client takes. No test here does anything that deserves a message box."""

FULL: Json = {
    "window": {"workDoneProgress": True},
    "workspace": {
        "configuration": True,
        "codeLens": {"refreshSupport": True},
        "inlayHint": {"refreshSupport": True},
        "diagnostics": {"refreshSupport": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "didChangeConfiguration": {"dynamicRegistration": True},
        "workspaceEdit": {"documentChanges": True},
        "fileOperations": {"didCreate": True, "didRename": True, "didDelete": True},
    },
    "notebookDocument": {"synchronization": {}},
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True, "codeDescriptionSupport": True, "dataSupport": True},
        "diagnostic": {},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "source.fixAll"]}},
            "isPreferredSupport": True,
            "disabledSupport": True,
        },
        "documentLink": {"tooltipSupport": True},
    },
}
"""All optional capabilities that the server asks for. (``{}`` announces what has none within.)"""


def leaves(capabilities: Json, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The paths of the single capabilities."""
    found = []
    for name, value in capabilities.items():
        inner = isinstance(value, dict) and value and "codeActionKind" not in value
        found += leaves(value, (*path, name)) if inner else [(*path, name)]
    return found


def chosen(paths: list[tuple[str, ...]]) -> Json:
    """Capabilities of which only these are announced."""
    made: Json = {}
    for path in paths:
        value: Any = FULL
        for name in path:
            value = value[name]
        here = made
        for name in path[:-1]:
            here = here.setdefault(name, {})
        here[path[-1]] = value
    return made


def has(capabilities: Json, path: str) -> bool:
    """Whether a capability is announced."""
    value: Any = capabilities
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value is not None and value is not False


class StrictClient:
    """One connection."""

    def __init__(self, folder: Path, capabilities: Json, options: Json) -> None:
        self.folder = folder
        self.capabilities = capabilities
        self.options = options
        self.server: Json = {}
        """What the server can, as it says."""
        self.received: list[Json] = []
        """Notifications and requests of the server."""
        self.wrong: list[str] = []
        """What the server should not have sent."""
        self._answers: dict[int, asyncio.Future[Json]] = {}
        self._process: asyncio.subprocess.Process
        self._news = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator["StrictClient"]:
        """From ``initialize`` to ``exit``; what was wrong is a failure of the test."""
        self._process = await asyncio.create_subprocess_exec(
            *SERVER, cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        listening = asyncio.create_task(self._listen())
        params = {
            "processId": None,
            "rootUri": self.folder.as_uri(),
            "workspaceFolders": [{"uri": self.folder.as_uri(), "name": "work"}],
            "capabilities": self.capabilities,
            "initializationOptions": {"interpreter": [sys.executable], **self.options},
        }
        self.server = (await self.ask("initialize", params))["capabilities"]
        self.tell("initialized", {})
        yield self
        await self.ask("shutdown", None)
        self.tell("exit", None)
        assert await asyncio.wait_for(self._process.wait(), PATIENCE) == 0
        await listening
        assert not self.wrong, self.wrong

    @property
    def encoding(self) -> str:
        return str(self.server.get("positionEncoding", "utf-16"))

    async def ask(self, method: str, params: Any) -> Any:
        """The result of a request."""
        number = len(self._answers) + 1
        self._answers[number] = asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, "params": params})
        answer = await asyncio.wait_for(self._answers[number], PATIENCE)
        assert "error" not in answer, answer
        return answer["result"]

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def sent(self, method: str) -> list[Json]:
        """The parameters of what the server has sent."""
        return [message.get("params") or {} for message in self.received if message["method"] == method]

    async def until(self, method: str, happened: Any = bool) -> Json:
        """The parameters of the first message of a kind, so far or to come, that is as wanted."""

        def found() -> Json | None:
            return next((params for params in self.sent(method) if happened(params)), None)

        async with self._news:
            await asyncio.wait_for(self._news.wait_for(lambda: found() is not None), PATIENCE)
        params = found()
        assert params is not None
        return params

    def _send(self, message: Json) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                header = await self._process.stdout.readuntil(b"\r\n\r\n")
                size = int(header.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                message = json.loads(await self._process.stdout.readexactly(size))
                async with self._news:
                    self._receive(message)
                    self._news.notify_all()

    def _receive(self, message: Json) -> None:
        if "method" not in message:
            self._answers[message["id"]].set_result(message)
            return
        self.received.append(message)
        method, params = message["method"], message.get("params") or {}
        self._check(method, params)
        if "id" in message:
            asked = params.get("items", []) if method == "workspace/configuration" else []
            self._send({"id": message["id"], "result": [None for _ in asked] if asked else None})

    def _check(self, method: str, params: Json) -> None:
        """Note what this client has not announced."""
        if method == "client/registerCapability":
            needs = [REGISTRATIONS.get(item["method"], "?") for item in params["registrations"]]
        else:
            needs = [] if method in ALWAYS else [NEEDS.get(method, "?")]
        announced = {**self.capabilities, **{name: True for name, value in self.options.items() if value is True}}
        self.wrong += [f"{method} takes {need}" for need in needs if not has(announced, need)]
        if method == "textDocument/publishDiagnostics":
            self.check_diagnostics(params["diagnostics"])

    def check_diagnostics(self, diagnostics: list[Json]) -> None:
        """Note what this client does not take in diagnostics."""
        published = "textDocument.publishDiagnostics"
        for name, capability in (
            ("relatedInformation", "relatedInformation"),
            ("codeDescription", "codeDescriptionSupport"),
            ("tags", "tagSupport"),
            ("data", "dataSupport"),
        ):
            if any(name in item for item in diagnostics) and not has(self.capabilities, f"{published}.{capability}"):
                self.wrong.append(f"a diagnostic with {name}")
