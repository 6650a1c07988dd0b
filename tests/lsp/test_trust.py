"""A workspace that the user has not marked as trusted: what is said of it, and that nothing of it runs."""

import sys
from pathlib import Path
from typing import Any

from lsprotocol import types

from tests.lsp.editor import Editor

MODEL = """\
import contextlib

import torch
from torch import nn

with contextlib.suppress(OSError):
    open(__file__ + ".ran", "w").close()


# fx: skipp
class Net(nn.Module):
    def forward(self, x):
        # fx: ignore[control-flow]
        return x / len(x)
"""

SETTINGS = """\
[tool.fx-lsp]
shapes = "sometimes"
"""


def python_of_the_workspace(folder: Path) -> Path:
    """A Python that leaves a file where it is run, where the server would take it for the workspace's."""
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\ntouch "{folder}/python was run"\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    package = folder / ".venv" / "lib" / "python3.11" / "site-packages" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()  # the server sees a torch here, and the Python that is run imports its own
    return python


def codes(editor: Editor) -> set[Any]:
    """Those of the problems that are told of the model."""
    return {item.code for item in editor.published["model.py"].diagnostics}


async def test_code_runs_only_after_the_workspace_is_trusted(folder: Path, monkeypatch: Any) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    python_of_the_workspace(folder)
    was_run = folder / "python was run"
    commands = {"commands": ["fxLsp.showGraph", "fxLsp.showFailures"]}
    async with Editor(folder).session(python=(), options={"trusted": False, **commands}) as editor:
        editor.write("pyproject.toml", SETTINGS)
        editor.open("model.py", MODEL)
        found = await editor.diagnostics("model.py")
        assert [(editor.text("model.py", item.range), item.code) for item in found] == [("# fx: skipp", "directive")]
        await editor.until(lambda: "pyproject.toml" in editor.published)
        assert "`shapes` is not a setting" in editor.published["pyproject.toml"].diagnostics[0].message

        titles = [lens.command.title for lens in await editor.lenses("model.py") if lens.command]
        assert titles == ["not traced: this workspace is not trusted"]
        assert "not traced: this workspace is not trusted" in await editor.hover("model.py", "Net")
        assert "Suppress problems" in await editor.hover("model.py", "ignore[")
        position = types.Position(MODEL[: MODEL.index("ignore[")].count("\n"), len("        # fx: ignore["))
        document = types.TextDocumentIdentifier(editor.uri("model.py"))
        completion = await editor.client.text_document_completion_async(types.CompletionParams(document, position))
        assert isinstance(completion, list)
        assert "len" in {item.label for item in completion}
        graph = await editor.ask("fx/graph", editor.document("model.py"))
        assert (list(graph.nodes), graph.target.summary) == ([], "not traced: this workspace is not trusted")
        assert await editor.quick_fixes("model.py", *found) == []

        # What makes a trusted server trace: an edit, another interpreter, a restart.
        editor.edit("model.py", "skipp", "skippp")
        assert len(await editor.diagnostics("model.py")) == 1
        editor.client.protocol.notify("fx/interpreterChanged", {"interpreter": [sys.executable], "folder": None})
        editor.client.protocol.notify("fx/interpreterChanged", {"interpreter": None, "folder": None})
        await editor.client.workspace_execute_command_async(types.ExecuteCommandParams("fxLsp.restartAgent"))
        await editor.settled()
        assert editor.agents() == [], "no process was started"
        assert editor.statuses == []
        assert not was_run.exists()

        server = editor.server.pid
        editor.client.protocol.notify("fx/trustGranted")
        # The module is imported, and told that it may not write.
        await editor.until(lambda: codes(editor) >= {"denied", "len"})
        assert editor.server.pid == server
        assert was_run.exists(), "the test would have noticed"
        assert editor.agents()
