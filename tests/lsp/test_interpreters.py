"""Each workspace folder is traced with its own Python, and one that can't trace says so once, in one sentence."""

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from lsprotocol import types

from tests.lsp.editor import Editor

MODEL = """\
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
"""

OTHER = "FX_LSP_OTHER_PYTHON"
"""The environment variable that names a second Python with a torch, of another version, to test with."""


@pytest.fixture(autouse=True)
def _no_active_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)


def environment(folder: Path, *entries: Path | str) -> None:
    """Make a virtual environment in a folder, with more places to import from."""
    venv.create(folder / ".venv", symlinks=True)
    (packages,) = (folder / ".venv").glob("lib/python*/site-packages")
    (packages / "more.pth").write_text("".join(f"{entry}\n" for entry in entries))


def installed() -> str:
    """Where the torch is that the tests run with."""
    return next(entry for entry in sys.path if Path(entry, "torch", "__init__.py").exists())


def old_python() -> str | None:
    """A Python 3.9, if there is one: on the PATH, or where pyenv puts them."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = [shutil.which("python3.9"), *map(str, versions.glob("3.9.*/bin/python"))]
    return next((python for python in found if python and subprocess.run([python, "-c", ""]).returncode == 0), None)


async def test_each_folder_has_its_python(folder: Path) -> None:
    editor = Editor(folder)
    (folder / "broken").mkdir()
    package = folder / "broken" / "packages" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('libtorch_cpu.so: cannot open shared object file')\n")
    for name, entry in {"good": installed(), "none": "", "broken": str(package.parent)}.items():
        environment(folder / name, entry)
    without = str(folder / "none" / ".venv" / "bin" / "python")
    async with editor.session(python=(), roots=["good", "none", "broken"]):
        for name in ("none", "broken", "good"):
            editor.open(f"{name}/net.py", MODEL)
            assert await editor.diagnostics(f"{name}/net.py") == []
        for name in ("good", "none"):
            assert "can be traced" in await editor.hover(f"{name}/net.py", "Net")
        (broken,) = {status.message for status in editor.statuses if status.phase == "no-torch"}
        assert editor.statuses[-1].message == broken, "also while another folder is traced"
        reasons = {reason for status in editor.statuses for reason in status.reasons}
    assert f"taken: {folder}/good/.venv/bin/python (.venv in {folder}/good) has torch" in reasons
    assert f"not taken: {without} (.venv in {folder}/none) has no torch" in reasons
    assert broken.startswith("broken: Nothing is traced: ")
    assert "torch is installed in this Python but can't be imported" in broken
    assert "libtorch_cpu.so: cannot open shared object file" in broken


def taken(editor: Editor, phase: str) -> list[str]:
    """The Pythons of the agents that have been in this phase, in order."""
    first = [status.reasons[0] for status in editor.statuses if status.phase == phase]
    return list(dict.fromkeys(reason.removeprefix("taken: ").partition(" (")[0] for reason in first))


async def test_the_packages_of_one_folder_have_their_own_pythons(folder: Path) -> None:
    editor = Editor(folder)
    for name in ("a", "b"):
        environment(folder / "packages" / name, installed())
    async with editor.session(python=()):
        for name in ("a", "b"):
            editor.open(f"packages/{name}/net.py", MODEL)
            assert await editor.diagnostics(f"packages/{name}/net.py") == []
            assert "can be traced" in await editor.hover(f"packages/{name}/net.py", "Net")
        editor.edit("packages/a/net.py", "x.relu()", "x.relu() + 1")
        assert await editor.diagnostics("packages/a/net.py") == []
        assert len(editor.agents()) == 2
    assert taken(editor, "ready") == [f"{folder}/packages/{name}/.venv/bin/python" for name in ("a", "b")]


async def test_an_environment_that_gets_torch_traces_from_then_on(folder: Path) -> None:
    editor = Editor(folder)
    environment(folder)
    async with editor.session(python=()):
        editor.open("net.py", MODEL)
        assert await editor.diagnostics("net.py") == []
        assert "can be traced" in await editor.hover("net.py", "Net")
        environment(folder, installed())
        event = types.FileEvent(editor.uri(".venv/pyvenv.cfg"), types.FileChangeType.Changed)
        editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
        await editor.until(lambda: len(taken(editor, "ready")) == 2)
    assert taken(editor, "ready")[-1] == f"{folder}/.venv/bin/python"


async def test_each_folder_has_its_settings(folder: Path) -> None:
    editor = Editor(folder)
    names = ("one", "two")
    settings = {"interpreter": [sys.executable], "select": ["len"]}
    for name in names:
        (folder / name).mkdir()
    editor.client.set_configuration({"fxLsp": settings}, scope_uri=editor.uri("one"))
    editor.client.set_configuration({"fxLsp": {"interpreter": ["/no/such/python"]}}, scope_uri=editor.uri("two"))
    text = (
        "import torch.fx\n\ndef f(x):\n    if x:\n        x = x + 1\n    return len(x)\n\ntorch.fx.symbolic_trace(f)\n"
    )

    async def codes(name: str) -> list[object]:
        return [item.code for item in await editor.diagnostics(f"{name}/net.py")]

    async with editor.session(python=(), roots=names):
        for name in names:
            editor.open(f"{name}/net.py", text)
        assert await codes("one") == ["len"]
        assert await codes("two") == []
        assert "/no/such/python" in next(status.message for status in editor.statuses if status.phase == "failed")
        editor.client.set_configuration({"fxLsp": {**settings, "select": []}}, scope_uri=editor.uri("two"))
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({}))
        await editor.until(lambda: bool(editor.published["two/net.py"].diagnostics))
        assert await codes("two") == ["control-flow", "len"]
        assert await codes("one") == ["len"]


async def test_a_python_that_is_too_old(folder: Path) -> None:
    old = old_python()
    if old is None:
        pytest.skip("there is no Python 3.9 here")
    async with Editor(folder).session(python=(old,)) as editor:
        for name in ("net.py", "other.py"):
            editor.open(name, MODEL)
            assert await editor.diagnostics(name) == []
        told = [status.message for status in editor.statuses if status.phase == "failed"]
    assert len(told) == 1
    assert "Tracing needs Python 3.10 or later, but this is Python 3.9." in told[0]


async def test_two_versions_of_torch_at_once(folder: Path) -> None:
    other = os.environ.get(OTHER)
    if not other:
        pytest.skip(f"{OTHER} names no Python with another torch")
    editor = Editor(folder)
    environment(folder / "one", installed())
    (folder / "two").mkdir()
    (folder / "two" / ".venv").symlink_to(Path(other).parent.parent)
    async with editor.session(python=(), roots=["one", "two"]):
        for name in ("one", "two"):
            editor.open(f"{name}/net.py", MODEL)
            assert await editor.diagnostics(f"{name}/net.py") == []
            assert "can be traced" in await editor.hover(f"{name}/net.py", "Net")
        versions = {status.torch for status in editor.statuses if status.phase == "ready"}
    assert len(versions) == 2
    assert all(re.match(r"\d+\.\d+", version) for version in versions)
