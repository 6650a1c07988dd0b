"""Modules that are out to do harm (tests/workspaces/hostile): each is contained, and said of it is what it announces.

An announcement is a comment: ``# expect CODE: WORDS`` for the only code of the file's diagnostics and words of their
messages, or ``# expect nothing`` for a model that can be traced all the same. ``# needs MEANS`` names what the system
has to have for that.
"""

import asyncio
import contextlib
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from fx_lsp.agent.sandbox.confinement import mechanisms
from tests.lsp.editor import PATIENCE, Editor

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(sys.platform != "linux", reason="finds processes by /proc"),
]

PACKAGE = Path(__file__).parents[1] / "workspaces" / "hostile"
CASES = sorted(path.stem for path in PACKAGE.glob("*.py") if path.stem != "__init__")

GOOD = """\
import torch.fx

def good(x):
    return x.relu()

torch.fx.symbolic_trace(good)
"""

IMPORTING = """\
import torch

from . import {name}

class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
"""

SETTINGS = {"timeLimit": 1.0, "memoryLimit": 512}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def editor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Editor]:
    """An editor in a workspace that has the hostile package, a canary, a torch.py beside them, and strange names."""
    folder = tmp_path_factory.mktemp("workspace")
    shutil.copytree(PACKAGE, folder / "hostile", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "canary").mkdir()
    (folder / "canary" / "kept.txt").write_text("sings")
    (folder / "torch.py").write_text("raise RuntimeError('this is not torch')\n")
    (folder / "around").symlink_to(folder)
    (folder / "itself.py").symlink_to(folder / "itself.py")
    Path(os.fsdecode(bytes(folder) + b"/caf\xe9\n.py")).write_text("import torch\n")
    async with Editor(folder).session(settings=SETTINGS) as editor:
        editor.open("good.py", GOOD)
        assert await editor.diagnostics("good.py") == []
        yield editor


@contextlib.asynccontextmanager
async def contained(editor: Editor) -> AsyncIterator[None]:
    """Check that what happens in the block changes no file, leaves no process, and stops no other trace."""
    (agent,) = editor.agents()
    before = tree(editor.folder)
    yield
    assert tree(editor.folder) == before
    old, new = ("relu", "cos") if "relu" in editor.text("good.py") else ("cos", "relu")
    editor.edit("good.py", old, new)
    assert await editor.diagnostics("good.py") == []
    assert f"x.{new}()" in await editor.hover("good.py", "good(x)")
    editor.close("good.py")  # until then, processes are kept for its next edit
    await asyncio.wait_for(all_gone(agent), PATIENCE)
    assert editor.agents() == [agent]
    editor.open("good.py", editor.text("good.py"))
    assert await editor.diagnostics("good.py") == []


@contextlib.asynccontextmanager
async def shown(editor: Editor, name: str, text: str) -> AsyncIterator[None]:
    """Open a file for the block. A file that stayed open after a failure would fail all later tests."""
    editor.show(name, text)
    try:
        yield
    finally:
        editor.close(name)


def tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Name -> mode, time of the last change, contents, of everything in a folder."""
    paths = [folder, *(path for path in folder.rglob("*") if not path.is_symlink())]
    return {
        os.fspath(path): (status.st_mode, status.st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in paths
        for status in [path.stat()]
    }


async def all_gone(process: int) -> None:
    """Wait until a process has no children, and so no descendants: the agent is given those whose parent is dead."""
    while Path(f"/proc/{process}/task/{process}/children").read_text():
        await asyncio.sleep(0.01)


async def told(editor: Editor, name: str) -> dict[str, str]:
    """Code -> message of a file's diagnostics. The server answers while it waits for them."""
    assert "def forward(self, x)" in await editor.hover("good.py", "good(x)")
    return {str(item.code): item.message for item in await editor.diagnostics(name)}


def is_available(need: str) -> bool:
    name, _, version = need.partition("-")
    return mechanisms().machine is not None if name == "seccomp" else mechanisms().landlock >= int(version)


@pytest.mark.parametrize("case", CASES)
async def test_a_hostile_module(editor: Editor, case: str) -> None:
    name = f"hostile/{case}.py"
    text = (PACKAGE / f"{case}.py").read_text(encoding="utf-8")
    needs = re.search(r"^# needs (.+)$", text, re.MULTILINE)
    if needs and not all(map(is_available, needs[1].split())):
        pytest.skip(f"this system has no {needs[1]}")
    expected = re.search(r"^# expect (?:nothing|(\S+): (.+))$", text, re.MULTILINE)
    assert expected
    editor.write(name, text)
    async with contained(editor), shown(editor, name, text):
        said = await told(editor, name)
        if expected[1] is None:
            assert said == {}
            assert "can be traced" in await editor.hover(name, "Net")
        else:
            assert list(said) == [expected[1]]
            assert expected[2] in said[expected[1]]


@pytest.mark.parametrize(
    ("name", "content", "code", "words"),
    [
        ("empty", b"", None, ""),
        ("latin", b"name = 'caf\xe9'\n", "import", "encoding"),
        ("zeros", b"x = 1\x00\n", "import", "null bytes"),
        ("large", b"x = '" + b"y" * 10_000_000 + b"'\n", None, ""),
    ],
)
async def test_importing_a_strange_file(
    editor: Editor, name: str, content: bytes, code: str | None, words: str
) -> None:
    importing, text = f"hostile/imports_{name}.py", IMPORTING.format(name=name)
    (editor.folder / "hostile" / f"{name}.py").write_bytes(content)
    editor.write(importing, text)
    async with contained(editor), shown(editor, importing, text):
        said = await told(editor, importing)
        assert list(said) == ([] if code is None else [code])
        assert words in "".join(said.values())


async def test_an_open_file_of_50_mb(editor: Editor) -> None:
    text = IMPORTING.format(name="good") + "x = 1\n" * 8_000_000
    editor.write("large.py", text)
    async with contained(editor):
        editor.show("large.py", text)
        said = await told(editor, "large.py")
        assert list(said) == ["import"]
        assert "48,000,1" in said["import"]
        editor.close("large.py")
