"""Every request and notification, with clients that announce much or little: nothing else is ever sent to them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fx_lsp.documents.positions import LineIndex
from fx_lsp.server.handlers import server
from tests.lsp.strict import FULL, Json, StrictClient, chosen, has, leaves

MODEL = """\
import torch.fx


class Net(torch.nn.Module):
    def forward(self, x):
        s = "é😋"; y = x.abs()
        return y + 1


def broken(x):
    s = "é😋"; return x / len(x)  # fx: ignore[control-flow]


torch.fx.symbolic_trace(broken)
Net()(torch.zeros(2, 3))
"""

ALL = leaves(FULL)
PUBLISH, PULL = ("textDocument", "publishDiagnostics"), ("textDocument", "diagnostic")
CLIENTS: dict[str, tuple[list[tuple[str, ...]], list[str] | None, Json]] = {
    "everything": (ALL, ["utf-16"], {"status": True, "views": True, "commands": ["fxLsp.openForward"]}),
    "nothing": ([], None, {}),
    "even": ([path for path in (PULL, *ALL[::2]) if path[:2] != PUBLISH], ["utf-8", "utf-16"], {"views": True}),
    "odd": (ALL[1::2], ["utf-32"], {"status": True}),
    "pull": (ALL, ["utf-16"], {"diagnostics": "pull"}),
}
"""What a client announces, how it counts, and what it says of itself. "even" can but pull diagnostics."""


POLL_SECONDS = 0.05
"""Between two looks at what no message tells of."""


class Driver:
    """Does with one document what there is to be done."""

    def __init__(self, client: StrictClient) -> None:
        self.client = client
        self.document = {"uri": (client.folder / "model.py").as_uri()}
        self.done = {"initialize", "initialized", "shutdown"}

    async def ask(self, method: str, **params: Any) -> Any:
        self.done.add(method)
        return await self.client.ask(method, {"textDocument": self.document, **params})

    def tell(self, method: str, **params: Any) -> None:
        self.done.add(method)
        self.client.tell(method, params)

    def position(self, text: str, at: str) -> Json:
        encoding: Any = self.client.encoding
        line, character = LineIndex(text).position(text.index(at), encoding)
        return {"line": line, "character": character}

    def range(self, text: str, at: str) -> Json:
        encoding: Any = self.client.encoding
        start = text.index(at)
        ends = (LineIndex(text).position(offset, encoding) for offset in (start, start + len(at)))
        first, last = ({"line": line, "character": character} for line, character in ends)
        return {"start": first, "end": last}

    async def diagnostics(self, version: int) -> list[Json]:
        """All that is said of a version, whichever way this client hears of it."""
        if "diagnosticProvider" in self.client.server:
            assert not self.client.sent("textDocument/publishDiagnostics")
            while True:
                report = await self.ask("textDocument/diagnostic")
                self.client.check_diagnostics(report["items"])
                if report["items"]:
                    return list(report["items"])
                await asyncio.sleep(POLL_SECONDS)
        params = await self.client.until("textDocument/publishDiagnostics", lambda said: said.get("version") == version)
        return list(params["diagnostics"])


@pytest.mark.parametrize("name", CLIENTS)
async def test_nothing_is_sent_that_a_client_has_not_announced(folder: Path, name: str) -> None:
    paths, encodings, options = CLIENTS[name]
    capabilities = chosen(paths)
    if name == "nothing":
        capabilities = {"textDocument": {"publishDiagnostics": {}}}  # or there would be nothing to see
    if encodings:
        capabilities["general"] = {"positionEncodings": encodings}
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    client = StrictClient(folder, capabilities, options)
    async with client.session():
        assert client.encoding == (encodings[0] if encodings else "utf-16")
        driver = Driver(client)
        await look_around(driver)
        await change_things(driver)
        registered = {method for method in server.protocol.fm.features if not method.startswith("$/")}
        unseen = {"textDocument/diagnostic"} if "diagnosticProvider" not in client.server else set()
        if "notebookDocumentSync" in client.server:
            await look_into_a_notebook(driver)
        else:
            unseen |= {method for method in registered if method.startswith("notebookDocument/")}
        assert ("notebookDocumentSync" in client.server) == has(capabilities, "notebookDocument.synchronization")
        assert registered - driver.done - unseen == set()


async def look_around(driver: Driver) -> None:
    """Open the document, and ask for all that there is to be asked for."""
    client = driver.client
    document = {**driver.document, "languageId": "python", "version": 1, "text": MODEL}
    driver.tell("textDocument/didOpen", textDocument=document)
    (found,) = await driver.diagnostics(1)
    assert found["range"] == driver.range(MODEL, "len(x)")
    await check_hover(driver)
    await check_code_actions(driver, found)
    while (await driver.ask("fx/graph", target="class:Net"))["input"] is None:
        await asyncio.sleep(POLL_SECONDS)
    lenses = await driver.ask("textDocument/codeLens")
    assert lenses[0]["command"]["title"].startswith("✓ traces")
    assert (lenses[0]["command"]["command"] != "") == ("commands" in client.options)
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    hints = await driver.ask("textDocument/inlayHint", range=whole)
    assert hints[0]["position"] == driver.position(MODEL, " = x.abs()")
    links = await driver.ask("textDocument/documentLink")
    assert [link["range"] for link in links] == [driver.range(MODEL, "control-flow")]
    assert ("tooltip" in links[0]) == has(client.capabilities, "textDocument.documentLink.tooltipSupport")
    items = await driver.ask("textDocument/completion", position=driver.position(MODEL, "ignore["))
    assert {"trace", "skip", "ignore"} <= {item["label"] for item in items}
    assert [target["key"] for target in await driver.ask("fx/targets")]
    assert (await driver.ask("fx/forward", target="class:Net"))["text"].startswith("def forward(self, x):")
    assert "class NetTraced" in (await driver.ask("fx/module", target="class:Net"))["text"]


async def check_hover(driver: Driver) -> None:
    shown = (await driver.ask("textDocument/hover", position=driver.position(MODEL, "ignore[")))["contents"]
    takes_markdown = has(driver.client.capabilities, "textDocument.hover.contentFormat")
    assert shown["kind"] == ("markdown" if takes_markdown else "plaintext")
    assert "Suppress problems" in shown["value"]


async def check_code_actions(driver: Driver, diagnostic: Json) -> None:
    capabilities = driver.client.capabilities
    context = {"diagnostics": [diagnostic]}
    actions = await driver.ask("textDocument/codeAction", range=diagnostic["range"], context=context)
    if not has(capabilities, "textDocument.codeAction.codeActionLiteralSupport"):
        assert actions == []
        return
    assert actions
    versioned = has(capabilities, "workspace.workspaceEdit.documentChanges")
    assert all(("documentChanges" in action["edit"]) == versioned for action in actions)
    here = driver.range(MODEL, "class Net")
    others = await driver.ask("textDocument/codeAction", range=here, context={"diagnostics": []})
    assert [action["kind"] for action in others] == ["refactor.rewrite"] * 2
    kinds = driver.client.server["codeActionProvider"]["codeActionKinds"]
    assert {action["kind"] for action in (*actions, *others)} <= set(kinds)
    preferred = has(capabilities, "textDocument.codeAction.isPreferredSupport")
    assert preferred or not any("isPreferred" in action for action in actions)


async def change_things(driver: Driver) -> None:
    """Edit, and have all else happen that the server is told of."""
    edited = {**driver.document, "version": 2}
    change = {"range": driver.range(MODEL, "x.abs()"), "text": "x.relu()"}
    driver.tell("textDocument/didChange", textDocument=edited, contentChanges=[change])
    (found,) = await driver.diagnostics(2)
    assert found["range"] == driver.range(MODEL, "len(x)")
    assert driver.client.server["textDocumentSync"]["save"], "or a client would not tell that a document was saved"
    driver.tell("textDocument/didSave", textDocument=driver.document)
    driver.tell("workspace/didChangeWatchedFiles", changes=[{"uri": driver.document["uri"], "type": 2}])
    renamed = {"oldUri": (driver.client.folder / "a.py").as_uri(), "newUri": (driver.client.folder / "b.py").as_uri()}
    driver.tell("workspace/didRenameFiles", files=[renamed])
    for method in ("workspace/didCreateFiles", "workspace/didDeleteFiles"):
        driver.tell(method, files=[{"uri": renamed["newUri"]}])
    driver.tell("window/workDoneProgress/cancel", token="none")
    driver.tell("workspace/didChangeWorkspaceFolders", event={"added": [], "removed": []})
    driver.tell("workspace/didChangeConfiguration", settings={"fxLsp": {"traceDelay": 10}})
    driver.tell("fx/interpreterChanged", interpreter=None, folder=None)
    driver.tell("fx/trustGranted")
    document = driver.document["uri"]
    for command in ("fxLsp.pause", "fxLsp.resume", "fxLsp.traceFile", "fxLsp.restartAgent"):
        await driver.client.ask("workspace/executeCommand", {"command": command, "arguments": [document]})
    driver.tell("textDocument/didClose", textDocument=driver.document)
    if "diagnosticProvider" not in driver.client.server:
        await driver.client.until("textDocument/publishDiagnostics", lambda said: not said["diagnostics"])


async def look_into_a_notebook(driver: Driver) -> None:
    """Open a notebook of two cells, edit one, and close it."""
    client = driver.client
    notebook = {"uri": (client.folder / "a.ipynb").as_uri()}
    first, second = (f"vscode-notebook-cell:/a.ipynb#{number}" for number in range(2))
    texts = {first: "%pip install torch\nimport torch.fx", second: "f = len\ntorch.fx.symbolic_trace(lambda x: f(x))"}
    driver.tell(
        "notebookDocument/didOpen",
        notebookDocument={
            **notebook,
            "notebookType": "jupyter-notebook",
            "version": 1,
            "cells": [{"kind": 2, "document": uri} for uri in texts],
        },
        cellTextDocuments=[
            {"uri": uri, "languageId": "python", "version": 1, "text": text} for uri, text in texts.items()
        ],
    )
    driver.document = {"uri": second}
    pulls = "diagnosticProvider" in client.server
    publish = "textDocument/publishDiagnostics"
    if not pulls:
        await client.until(publish, lambda said: said["uri"] == second and said["diagnostics"])
    while pulls and not (await driver.ask("textDocument/diagnostic"))["items"]:
        await asyncio.sleep(POLL_SECONDS)
    content = {"document": {"uri": second, "version": 2}, "changes": [{"text": "f = torch.abs"}]}
    edited = {**notebook, "version": 2}
    driver.tell("notebookDocument/didChange", notebookDocument=edited, change={"cells": {"textContent": [content]}})
    if not pulls:
        await client.until(publish, lambda said: said["uri"] == second and said.get("version") == 2)
    while pulls and (await driver.ask("textDocument/diagnostic"))["items"]:
        await asyncio.sleep(POLL_SECONDS)
    driver.tell("notebookDocument/didSave", notebookDocument=notebook)
    closed = [{"uri": uri} for uri in texts]
    driver.tell("notebookDocument/didClose", notebookDocument=notebook, cellTextDocuments=closed)
