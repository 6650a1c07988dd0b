"""How long after a keystroke the diagnostics are right, against running a script anew; and how fast the server starts.

    .venv/bin/python benchmarks/latency.py [--edits 15] [--scripts 5]

A workspace holds torchvision's resnet50 with a head that can't be traced. A real server process is told of one edit
after the other; each is timed from the moment the change is sent until the diagnostics of that version arrive, so the
server's debounce is in the figure. In turn with them, a fresh interpreter runs the script that people use today: import
torch and the model, build it, ``torch.fx.symbolic_trace`` it. The start is timed as ``initialize`` (process start to
answer) against a fresh interpreter that imports what the server is made with. Figures are medians; what counts is
their ratio, since both sides ran in turn on the same machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

ROOT = Path(__file__).resolve().parent.parent
MODEL = """\
import torch
from torch import nn

import zoo_operators  # declares torchvision's compiled operators where they are missing
from torchvision.models import resnet50


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone = resnet50()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.backbone(x)
        if scores.sum() > 0:
            return scores
        return -scores
"""
SCRIPT = """\
import torch, torch.fx
from model import Model
try:
    torch.fx.symbolic_trace(Model())
except torch.fx.proxy.TraceError as error:
    print(error)
"""


class Editor(LanguageClient):
    """A client that hands out the diagnostics of one document version."""

    def __init__(self) -> None:
        super().__init__("latency", "1")
        self.published: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()

        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(params)

        self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(publish)

    async def diagnostics(self, version: int) -> list[types.Diagnostic]:
        """The first diagnostics that are published for ``version`` of the document."""
        while True:
            params = await asyncio.wait_for(self.published.get(), 120)
            if params.version == version:
                return list(params.diagnostics)

    async def start(self, folder: Path, env: dict[str, str]) -> float:
        """Start a server on ``folder``; the seconds from process start to the answer of ``initialize``."""
        began = time.perf_counter()
        await self.start_io(sys.executable, "-m", "fx_lsp", cwd=folder, env=env)
        self.reading = asyncio.create_task(self.drain())
        await self.initialize_async(
            types.InitializeParams(
                capabilities=types.ClientCapabilities(),
                workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name)],
                initialization_options={"interpreter": [sys.executable]},
            )
        )
        seconds = time.perf_counter() - began
        self.initialized(types.InitializedParams())
        return seconds

    async def drain(self) -> None:
        """Read the server's log away: a full pipe would stop it."""
        while self._server and self._server.stderr and await self._server.stderr.readline():
            pass

    async def leave(self) -> None:
        """Shut the server down."""
        await self.shutdown_async(None)
        self.exit(None)
        await self.stop()  # type: ignore[no-untyped-call]


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock seconds that ``work`` takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def fresh(*arguments: str, cwd: Path, env: dict[str, str] | None) -> float:
    """Wall-clock seconds of a fresh interpreter with ``arguments``. Raises where it fails."""
    return seconds(
        lambda: subprocess.run([sys.executable, *arguments], cwd=cwd, env=env, check=True, stdout=subprocess.DEVNULL)
    )


def make_workspace(folder: Path) -> tuple[Path, dict[str, str]]:
    """Write the model's workspace below ``folder``; the path of the file that is edited, and an environment.

    The environment has a stand-in for an installed package that declares torchvision's operators.
    """
    packages, workspace = folder / "packages", folder / "workspace"
    packages.mkdir()
    workspace.mkdir()
    (packages / "zoo_operators.py").write_text((ROOT / "tests" / "zoo.py").read_text())
    model = workspace / "model.py"
    model.write_text(MODEL)
    return model, {**os.environ, "PYTHONPATH": str(packages)}


async def measure_edits(folder: Path, edits: int, scripts: int) -> None:
    """Edit and run the script in turn, and print both medians."""
    model, env = make_workspace(folder)
    editor = Editor()
    await editor.start(model.parent, env)
    editor.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(model.as_uri(), types.LanguageKind.Python, 0, MODEL))
    )
    first = await asyncio.wait_for(editor.diagnostics(0), 120)
    assert [item.code for item in first] == ["control-flow"], first
    edit_seconds: list[float] = []
    script_seconds: list[float] = []
    for number in range(1, edits + 1):
        text = MODEL.replace("> 0", f"> {number}")
        began = time.perf_counter()
        editor.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(number, model.as_uri()),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )
        found = await editor.diagnostics(number)
        edit_seconds.append(time.perf_counter() - began)
        assert [item.code for item in found] == ["control-flow"], found
        if len(script_seconds) < scripts:
            script_seconds.append(await asyncio.to_thread(fresh, "-c", SCRIPT, cwd=model.parent, env=env))
    await editor.leave()
    compare("last edit to diagnostics", edit_seconds, "a fresh script", script_seconds)


async def measure_start(folder: Path, runs: int) -> None:
    """Start a server and import its libraries in turn, and print both medians."""
    starts, imports = [], []
    for _ in range(runs):
        editor = Editor()
        starts.append(await editor.start(folder, dict(os.environ)))
        await editor.leave()
        imports.append(
            await asyncio.to_thread(fresh, "-c", "import pygls.lsp.server, lsprotocol.types", cwd=folder, env=None)
        )
    compare("start to initialize answered", starts, "importing pygls and lsprotocol", imports)


def compare(name: str, ours: list[float], other: str, theirs: list[float]) -> None:
    """Print two lists of seconds by their medians, and how many times the second is the first."""
    a, b = statistics.median(ours), statistics.median(theirs)
    spread = f"{min(ours):.3f}–{max(ours):.3f}"
    print(f"{name}: {a:.3f} s ({spread}, n={len(ours)}); {other}: {b:.3f} s (n={len(theirs)}); ratio {b / a:.2f}")


def main() -> None:
    """Measure both and print two lines."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edits", type=int, default=15)
    parser.add_argument("--scripts", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        asyncio.run(measure_edits(folder, options.edits, options.scripts))
        asyncio.run(measure_start(folder, options.scripts))


if __name__ == "__main__":
    main()
