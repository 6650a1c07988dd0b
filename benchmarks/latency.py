"""Measures the time from a keystroke to the correct diagnostics, compared with a new script, and the server's start.

    .venv/bin/python benchmarks/latency.py [--edits 15] [--scripts 5] [--pause 4] [--only resnet50 …]

The cases are models with a head that can't be traced: torchvision's resnet50 and swin_t; a vision transformer in a
package of 5 files, and the same one among 195 files with other models; timm's resnet50, with all of timm as the user's
own source; to show the minimum cost of an edit, a few small layers in packages of 5 and of 200 files; and a model whose
constructor fills a table in Python loops, which takes seconds.

The script sends edits to a real server, key by key, and looks at what a person sees. The edits change the condition at
which the model fails, mend the failure, make it again, and move it to another line; some also edit the constructor, so
that the model has to be built again. The diagnostics are right if they quote the condition as it is now, at its line,
or if there are none where there is no failure. The script measures the time from the last key until they are right,
including all delays of the server except the longer ones on a busy computer, and until the server has nothing more to
report. It also counts the publications that take a right diagnostic away while a key is pressed or traced. For
comparison, it also traces the model in two other ways, in turn with the server. A fresh interpreter runs the script
that people use today: it imports torch and the model, builds the model, and traces it with ``torch.fx.symbolic_trace``.
A warm process, which has done all this before, reimports only the workspace's modules, and builds the model on the meta
device and traces it again, without a sandbox. While edits are traced, the script requests hovers. Afterward, it sends
nothing and measures the server's CPU time. It also measures the time from ``initialized`` to the first diagnostics of
the open file, with an empty cache and with the results of an earlier run, and compares it with a fresh interpreter that
imports torch and what the file imports.

With a pause, the server has time to confirm each answer with a trace from the start, whose processes it keeps for the
next edit.

The start is the time from process start to the response to ``initialize``, compared with a fresh interpreter that
imports the server's libraries. All results are medians. What matters is their ratio, because both sides ran
alternately on the same machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from subprocess import PIPE

from lsprotocol import types
from pygls.lsp.client import LanguageClient

KEYS = 3
"""The number of keystrokes in an edit."""

KEY_SECONDS = 0.12
"""The time from one keystroke to the next, which is 100 words per minute."""

FIRST_LINES = 20
"""How many lines the edited model ends before; other models in the file come after."""

IDLE_SECONDS = 10
IDLE_TRIES = 12
ROOT = Path(__file__).resolve().parent.parent
HEAD = """\
import torch
from torch import nn

{imports}


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone = {backbone}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.backbone(x)
        if scores.sum() > 0:
            return scores
        return -scores
"""
LAYER = """\
import torch
from torch import nn
{imports}

class Layer{number}(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 64)
        {inner}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x)) + {call}
"""
TRANSFORMER = {
    "zoo/__init__.py": "",
    "zoo/attention.py": """\
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, dim = x.shape
        qkv = self.qkv(x).reshape(batch, tokens, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        weights = (q @ k.transpose(-2, -1) * (dim // self.heads) ** -0.5).softmax(dim=-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(batch, tokens, dim))
""",
    "zoo/block.py": """\
import torch
from torch import nn

from zoo.attention import Attention


class Block(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attention = Attention(dim, heads)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))
""",
    "zoo/transformer.py": """\
import torch
from torch import nn

from zoo.block import Block


class VisionTransformer(nn.Module):
    def __init__(self, dim: int = 384, depth: int = 12, heads: int = 6, patch: int = 16, classes: int = 1000) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, dim, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, dim))
        self.positions = nn.Parameter(torch.zeros(1, 197, dim))
        self.blocks = nn.Sequential(*[Block(dim, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        return self.head(self.norm(self.blocks(x))[:, 0])
""",
    "zoo/model.py": HEAD.format(
        imports="from zoo.transformer import VisionTransformer", backbone="VisionTransformer()"
    ),
}
SCRIPT = """\
import torch, torch.fx
from {module} import Model
try:
    torch.fx.symbolic_trace(Model())
except torch.fx.proxy.TraceError as error:
    print(error)
"""
TABLES = {
    "zoo/__init__.py": "",
    "zoo/tables.py": """\
import math

import torch
from torch import nn


class Tables(nn.Module):
    def __init__(self, size: int = 400, waves: int = 100) -> None:
        super().__init__()
        rows = []
        for row in range(size):
            rows.append([])
            for column in range(size):
                value = 0.0
                for wave in range(1, waves + 1):
                    value += math.sin(row * wave) / (column + wave)
                rows[-1].append(value)
        self.register_buffer("table", torch.tensor(rows))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.table
""",
    "zoo/model.py": HEAD.format(imports="from zoo.tables import Tables", backbone="Tables()"),
}
FAILS, MENDED = "if scores.sum() > {}:", "if {} > 0.5:"
"""The statement that fails, and one that does not, with a place for what is typed."""

CONDITION = re.compile(re.escape(FAILS).replace(r"\{\}", r"\S+"))
"""The statement that fails, whatever was typed there."""

KINDS = ("change", "mend", "make", "move", "build")
"""What edits do, in turn: to the failure, or to the constructor."""

CONSTRUCTOR = "        super().__init__()\n"
WIDTH = re.compile(rf"{re.escape(CONSTRUCTOR)}(        self\.width = .*\n)?")
"""The line behind which the constructor is edited, and the line that such edits make."""

WARM = """\
import sys, time
sys.path.insert(0, "")
import torch, torch.fx
def run():
    for name in [name for name, module in sys.modules.items() if name.split(".")[0] == {module!r}.split(".")[0]]:
        del sys.modules[name]
    Model = __import__({module!r}, fromlist=["Model"]).Model
    try:
        with torch.device("meta"):
            model = Model()
        torch.fx.symbolic_trace(model)
    except torch.fx.proxy.TraceError:
        pass
run()
for line in sys.stdin:
    began = time.perf_counter()
    run()
    print(time.perf_counter() - began, flush=True)
"""
OPERATORS = "import zoo_operators  # declares torchvision's compiled operators where they are missing"


@dataclass(frozen=True)
class Case:
    """A workspace and the file in it that is edited. The file's ``Model`` fails at one place."""

    files: Mapping[str, str]
    """The text of each file, by its path relative to the workspace folder."""
    edited: str

    @property
    def module(self) -> str:
        """The dotted name of the edited file."""
        return self.edited.removesuffix(".py").replace("/", ".")

    @property
    def text(self) -> str:
        """The text of the edited file."""
        return self.files[self.edited]


def torchvision_case(name: str) -> Case:
    """A workspace with one file that uses a model of the installed torchvision."""
    imports = f"{OPERATORS}\nfrom torchvision.models import {name}"
    return Case({"model.py": HEAD.format(imports=imports, backbone=f"{name}()")}, "model.py")


def layers_case(count: int) -> Case:
    """A package of ``count`` files; the edited file uses a layer that depends on up to ten other files."""
    files = {"zoo/__init__.py": ""}
    for number in range(count - 2):
        below = number - 1 if number % 10 else None
        files[f"zoo/layer{number}.py"] = LAYER.format(
            imports="" if below is None else f"from zoo.layer{below} import Layer{below}\n",
            number=number,
            inner="" if below is None else f"self.inner = Layer{below}()",
            call="x" if below is None else "self.inner(x)",
        )
    top = count - 3
    files["zoo/model.py"] = HEAD.format(imports=f"from zoo.layer{top} import Layer{top}", backbone=f"Layer{top}()")
    return Case(files, "zoo/model.py")


def models_case(count: int) -> Case:
    """One file with ``count`` models that have nothing to do with each other; the first one is edited."""
    head = HEAD.format(imports="", backbone="nn.Sequential(*[nn.Linear(64, 64) for _ in range(50)])")
    others = [head.partition("\n\n\n")[2].replace("Model", f"Other{number}") for number in range(1, count)]
    return Case({"model.py": "\n\n".join([head, *others]).replace("> 0", "> 1").replace("> 1", "> 0", 1)}, "model.py")


def timm_case() -> Case:
    """All of the installed timm as the user's own source, and a file that uses one of its models."""
    spec = find_spec("timm")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    files = {str(file.relative_to(folder.parent)): file.read_text("utf-8") for file in folder.rglob("*.py")}
    head = HEAD.format(imports=f"{OPERATORS}\nfrom timm.models.resnet import resnet50", backbone="resnet50()")
    return Case({**files, "model.py": head}, "model.py")


CASES: dict[str, Callable[[], Case]] = {
    "resnet50": lambda: torchvision_case("resnet50"),
    "swin_t": lambda: torchvision_case("swin_t"),
    "5 files": lambda: Case(TRANSFORMER, "zoo/model.py"),
    "200 files": lambda: Case({**layers_case(197).files, **TRANSFORMER}, "zoo/model.py"),
    "timm": timm_case,
    "5 small files": lambda: layers_case(5),
    "200 small files": lambda: layers_case(200),
    "ten models": lambda: models_case(10),
    "slow constructor": lambda: Case(TABLES, "zoo/model.py"),
}


@dataclass(frozen=True)
class Answered:
    """The diagnostics for one version of a document."""

    diagnostics: list[types.Diagnostic]
    shown: float
    """The time from which on they were right, from `time.perf_counter`."""
    complete: float
    """The time at which they were shown as the final diagnostics for this version."""


class Editor(LanguageClient):
    """A client that returns the diagnostics for one version of a document."""

    def __init__(self, **settings: object) -> None:
        """``settings`` are fx-lsp's, by name."""
        super().__init__("latency", "1")
        # Without a delay, the server does not wait longer while other programs keep the processors busy.
        self._settings = {"interpreter": [sys.executable], "traceDelay": 0, **settings}
        self.published: asyncio.Queue[tuple[float, types.PublishDiagnosticsParams]] = asyncio.Queue()
        self.text = ""
        """The text of the edited file."""
        self.taken_away = 0
        """How many publications took the diagnostic of a failure away that the text of then still had."""
        shown = False

        def publish(params: types.PublishDiagnosticsParams) -> None:
            nonlocal shown
            self.published.put_nowait((time.perf_counter(), params))
            before, shown = shown, is_reported(params.diagnostics)
            self.taken_away += failing_line(self.text) is not None and before and not shown

        self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(publish)

    async def answered(self, version: int) -> Answered:
        """Wait for the diagnostics for ``version`` of the document, which has just been sent.

        The diagnostics may have been right before they were final.
        """
        right: float | None = None
        while True:
            at, params = await asyncio.wait_for(self.published.get(), 120)
            if not is_right(params.diagnostics, self.text):
                right = None
            elif right is None:
                right = at
            if params.version == version:
                assert right is not None, params
                return Answered(list(params.diagnostics), right, at)

    async def start(self, folder: Path, env: dict[str, str]) -> float:
        """Start a server on ``folder``. Returns the seconds from process start to the response to ``initialize``."""
        began = time.perf_counter()
        await self.start_io(sys.executable, "-m", "fx_lsp", cwd=folder, env=env)
        self.reading = asyncio.create_task(self.drain())
        await self.initialize_async(
            types.InitializeParams(
                capabilities=types.ClientCapabilities(),
                workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name)],
                initialization_options=self._settings,
            )
        )
        seconds = time.perf_counter() - began
        self.initialized(types.InitializedParams())
        return seconds

    def open(self, file: Path, text: str) -> None:
        """Open ``file``, as version 0."""
        self.text = text
        item = types.TextDocumentItem(file.as_uri(), types.LanguageKind.Python, 0, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, file: Path, text: str, version: int) -> None:
        """Replace the whole text."""
        self.text = text
        self.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version, file.as_uri()),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    async def hover_seconds(self, file: Path) -> float:
        """The seconds until the response to a hover over ``Model``."""
        began = time.perf_counter()
        line = file.read_text().splitlines().index("class Model(nn.Module):")
        where = types.HoverParams(types.TextDocumentIdentifier(file.as_uri()), types.Position(line, 8))
        await self.text_document_hover_async(where)
        return time.perf_counter() - began

    async def idle_seconds(self) -> float:
        """The CPU seconds that the server and its descendants use while idle.

        The measurement is repeated until they are idle, because after a trace, the server describes graphs and tries
        fixes.
        """
        assert self._server is not None
        taken = 1.0
        for _ in range(IDLE_TRIES):
            if taken < 0.05:
                break
            before = processor_seconds(self._server.pid)
            await asyncio.sleep(IDLE_SECONDS)
            taken = processor_seconds(self._server.pid) - before
        return taken

    async def drain(self) -> None:
        """Read and discard the server's log, because a full pipe would block the server."""
        while self._server and self._server.stderr and await self._server.stderr.readline():
            pass

    async def leave(self) -> None:
        """Shut the server down."""
        await self.shutdown_async(None)
        self.exit(None)
        await self.stop()  # type: ignore[no-untyped-call]


def is_reported(diagnostics: Sequence[types.Diagnostic]) -> bool:
    """Whether the failure of the model is among ``diagnostics``."""
    return "control-flow" in [item.code for item in diagnostics if item.range.start.line < FIRST_LINES]


def failing_line(text: str) -> int | None:
    """The line of the edited model at which it fails; None if it does not."""
    lines = [line.strip() for line in text.splitlines()[:FIRST_LINES]]
    return next((number for number, line in enumerate(lines) if line.startswith(FAILS.partition("{")[0])), None)


def is_right(diagnostics: Sequence[types.Diagnostic], text: str) -> bool:
    """Whether ``diagnostics`` say of ``text`` what is true."""
    found = [item for item in diagnostics if item.range.start.line < FIRST_LINES]
    line = failing_line(text)
    if line is None:
        return not is_reported(diagnostics)
    condition = text.splitlines()[line].strip().removeprefix("if ").removesuffix(":")
    return [(item.range.start.line, f"`{condition}`" in item.message) for item in found] == [(line, True)]


def edited(text: str, kind: str, typed: str, *, is_last: bool) -> str:
    """The text after a keystroke of an edit of this kind, which has ``typed`` so far; ``is_last``: to its end."""
    statement = MENDED if kind == "mend" and is_last else FAILS
    if kind == "build":
        text = WIDTH.sub(f"{CONSTRUCTOR}        self.width = {typed}\n", text, count=1)
    if kind == "move" and is_last:
        statement = f"\n        {statement}"
    return CONDITION.sub(statement.format(typed), text, count=1)


def processor_seconds(pid: int) -> float:
    """The CPU seconds that a process and its descendants, including ended ones, have used, according to Linux."""
    folder = Path(f"/proc/{pid}")
    # The program's name, in parentheses, may contain any characters.
    ticks = (folder / "stat").read_text().rpartition(")")[2].split()[11:15]
    children = (folder / f"task/{pid}/children").read_text().split()
    own = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return own + sum(processor_seconds(int(child)) for child in children)


def memory(pid: int) -> float:
    """The proportional set size of a process and its descendants, in MiB, according to Linux."""
    total = 0.0
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        total = sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        total += sum(memory(int(child)) for child in children)
    return total


def seconds(work: Callable[[], object]) -> float:
    """The wall-clock seconds that ``work`` takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def fresh(*arguments: str, cwd: Path, env: dict[str, str] | None) -> float:
    """The wall-clock seconds of a fresh interpreter with ``arguments``. Raises an exception if it fails."""
    return seconds(
        lambda: subprocess.run([sys.executable, *arguments], cwd=cwd, env=env, check=True, stdout=subprocess.DEVNULL)
    )


def make_workspace(case: Case, folder: Path) -> tuple[Path, dict[str, str]]:
    """Write the workspace into ``folder``. Returns its folder, and an environment with an empty cache.

    The environment contains a small package that declares torchvision's operators.
    """
    packages, workspace = folder / "packages", folder / "workspace"
    packages.mkdir(parents=True)
    (packages / "zoo_operators.py").write_text((ROOT / "tests" / "zoo.py").read_text())
    for name, text in case.files.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
    paths = os.pathsep.join([str(packages), str(ROOT)])
    return workspace, {**os.environ, "PYTHONPATH": paths, "FX_LSP_CACHE": str(folder / "cache")}


async def measure_first(case: Case, folder: Path, runs: int) -> None:
    """Open the file in new servers, without and with stored results of an earlier one; import what it needs in turn."""
    without: list[float] = []
    kept: list[float] = []
    imports: list[float] = []
    for run in range(runs):
        workspace, env = make_workspace(case, folder / str(run))
        for figures in (without, kept):
            editor = Editor()
            await editor.start(workspace, env)
            began = time.perf_counter()
            editor.open(workspace / case.edited, case.text)
            answered = await editor.answered(0)
            figures.append(answered.shown - began)
            assert is_reported(answered.diagnostics), answered
            await editor.leave()
        code = "\n".join(["import torch", *re.findall(r"^(?:import|from) .+", case.text, re.MULTILINE)])
        imports.append(await asyncio.to_thread(fresh, "-c", code, cwd=workspace, env=env))
    compare("  initialized to first diagnostics", without, "importing torch and what the file imports", imports)
    compare("  the same from the cache", kept, "importing torch and what the file imports", imports)


class WarmProcess:
    """An interpreter that has imported torch and everything that the model needs, and has traced the model."""

    def __init__(self, module: str, folder: Path, env: dict[str, str]) -> None:
        command = [sys.executable, "-c", WARM.format(module=module)]
        self._process = subprocess.Popen(command, cwd=folder, env=env, stdin=PIPE, stdout=PIPE, text=True)

    def seconds(self) -> float:
        """The seconds to reimport the workspace's modules, and to build and trace the model again."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def leave(self) -> None:
        """End the process."""
        self._process.communicate()


async def measure_edits(case: Case, folder: Path, edits: int, scripts: int, pause: float) -> None:
    """Edit, request hovers, and run the script in turn; then print the medians."""
    workspace, env = make_workspace(case, folder)
    file = workspace / case.edited
    bare = WarmProcess(case.module, workspace, env)
    await asyncio.to_thread(bare.seconds)
    editor = Editor()
    await editor.start(workspace, env)
    editor.open(file, case.text)
    await editor.answered(0)
    right: dict[str, list[float]] = {kind: [] for kind in KINDS}
    completed: list[float] = []
    hovers: list[float] = []
    script: list[float] = []
    warm: list[float] = []
    assert editor._server is not None
    used = -processor_seconds(editor._server.pid)
    before = case.text
    for number in range(KEYS, KEYS * (edits + 1), KEYS):
        kind = KINDS[number // KEYS % len(KINDS) - 1]
        for key in range(KEYS):
            text = edited(before, kind, f"{number}." + key * "0", is_last=key == KEYS - 1)
            began = time.perf_counter()
            editor.change(file, text, number - KEYS + 1 + key)
            if key < KEYS - 1:
                await asyncio.sleep(KEY_SECONDS)
        before = text if kind == "build" else before  # so that no other edit changes the constructor
        waiting = asyncio.ensure_future(editor.answered(number))
        while not waiting.done():
            hovers.append(await editor.hover_seconds(file))
            await asyncio.wait([waiting], timeout=0.02)
        answered = waiting.result()
        right[kind].append(max(0.0, answered.shown - began))
        completed.append(answered.complete - began)
        if len(script) < scripts:
            code = SCRIPT.format(module=case.module)
            script.append(await asyncio.to_thread(fresh, "-c", code, cwd=workspace, env=env))
        warm.append(await asyncio.to_thread(bare.seconds))
        await asyncio.sleep(pause)
    bare.leave()
    used += processor_seconds(editor._server.pid)
    idle = await editor.idle_seconds()
    at_rest = memory(editor._server.pid)
    await editor.leave()
    print(f"  the first edit, which follows the first diagnostics at once, to diagnostics: {right[KINDS[0]][0]:.3f} s")
    in_bodies = [seconds for kind in KINDS if kind != "build" for seconds in right[kind]]
    compare("  last edit of a body to diagnostics", in_bodies, "a fresh script", script)
    compare("  the same", in_bodies, "build and trace in a warm process", warm)
    for kind in (kind for kind in KINDS if right[kind]):
        compare(f"    the edits that {kind}", right[kind], "build and trace in a warm process", warm)
    print(f"  publications that took a right diagnostic away: {editor.taken_away} in {edits} edits")
    compare("  last edit to the last word on it", completed, "a fresh script", script)
    print(f"  CPU time of the server and its agent for each edit of {KEYS} keys: {used / edits:.2f} s")
    hovers.sort()
    print(f"  memory of the server and its agent at rest after the last edit: {at_rest:.0f} MiB")
    print(f"  hover while traces run: p99 {hovers[int(0.99 * (len(hovers) - 1))] * 1000:.1f} ms (n={len(hovers)})")
    print(f"  CPU time of the server and its agent in {IDLE_SECONDS} s without a message: {idle:.2f} s")


async def measure_start(folder: Path, runs: int) -> None:
    """Alternately start a server and import its libraries; then print both medians."""
    starts, imports = [], []
    for _ in range(runs):
        editor = Editor()
        starts.append(await editor.start(folder, dict(os.environ)))
        await editor.leave()
        imports.append(
            await asyncio.to_thread(fresh, "-c", "import pygls.lsp.server, lsprotocol.types", cwd=folder, env=None)
        )
    compare("start to initialize answered", starts, "importing pygls and lsprotocol", imports)


def compare(name: str, ours: list[float], other: str, theirs: list[float], unit: str = "s") -> None:
    """Print the medians of two lists of numbers, and the ratio of the second median to the first."""
    a, b = statistics.median(ours), statistics.median(theirs)
    spread = f"{min(ours):.3f}–{max(ours):.3f}"
    print(
        f"{name}: {a:.3f} {unit} ({spread}, n={len(ours)}); "
        f"{other}: {b:.3f} {unit} (n={len(theirs)}); ratio {b / a:.2f}"
    )


def main() -> None:
    """Measure every chosen case, then the server's start."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edits", type=int, default=15, help="how many edits to measure for each case")
    parser.add_argument("--scripts", type=int, default=5, help="how many fresh scripts to run for each case")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds from one edit to the next")
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES), help="measure only these cases")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for number, chosen in enumerate(options.only):
            print(chosen)
            case = CASES[chosen]()
            asyncio.run(measure_first(case, folder / f"first{number}", max(1, options.scripts // 2)))
            asyncio.run(measure_edits(case, folder / f"edits{number}", options.edits, options.scripts, options.pause))
        asyncio.run(measure_start(folder, options.scripts))


if __name__ == "__main__":
    main()
