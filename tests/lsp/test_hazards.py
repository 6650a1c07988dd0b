"""Code that harms the process that runs it: a message at the right place, and the server answers all the while."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from lsprotocol import types

from tests.agent.client import ENDLESS
from tests.lsp.editor import Editor

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = {"timeLimit": 2.0, "memoryLimit": 512}

GOOD = """\
import torch.fx

def good(x):
    return x.relu()

torch.fx.symbolic_trace(good)
"""

HANGS = """\
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        while True: pass
"""

EATS_MEMORY = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = bytearray(1 << 40)

    def forward(self, x):
        return x
"""

WRITES = """\
import os
import torch

os.write(1, b"Content-Length: 3\\r\\n\\r\\n{}}" * 100)
print("to stdout")

class Net(torch.nn.Module):
    def forward(self, x):
        return x if x else -x
"""


@contextlib.asynccontextmanager
async def hovering(editor: Editor) -> AsyncIterator[None]:
    """Ask for a hover on another file, twenty times a second, all through the block."""
    editor.open("good.py", GOOD)
    assert await editor.diagnostics("good.py") == []
    answers = 0
    stop = asyncio.Event()

    async def ask() -> None:
        nonlocal answers
        while not stop.is_set():
            assert "def forward(self, x)" in await editor.hover("good.py", "good(x)")
            answers += 1
            await asyncio.sleep(0.05)

    asking = asyncio.ensure_future(ask())
    yield
    stop.set()
    await asking
    assert answers > 0


@pytest.mark.parametrize(
    ("text", "code", "place", "mended"),
    [
        (HANGS, "time-limit", ENDLESS, HANGS.replace("while True: pass", "return x")),
        (EATS_MEMORY, "memory-limit", "bytearray(1 << 40)", EATS_MEMORY.replace("1 << 40", "1")),
        (WRITES, "control-flow", "x", WRITES.replace("x if x else -x", "-x")),
    ],
    ids=["hangs", "eats memory", "writes to stdout"],
)
async def test_harmful_code_is_reported_at_its_place_and_the_next_edit_is_traced(
    editor: Editor, text: str, code: str, place: str, mended: str
) -> None:
    async with hovering(editor):
        editor.open("net.py", text)
        (found,) = await editor.diagnostics("net.py")
        assert (found.code, editor.text("net.py", found.range)) == (code, place)
        editor.edit("net.py", text, mended)
        assert await editor.diagnostics("net.py") == []
    assert "can be traced" in await editor.hover("net.py", "Net")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the agent by /proc")
async def test_an_agent_that_is_killed_is_replaced(editor: Editor) -> None:
    async with hovering(editor):
        editor.statuses.clear()
        editor.open("net.py", HANGS)
        await editor.until(lambda: any(status.phase == "busy" for status in editor.statuses))
        editor.kill_agents()
        (found,) = await editor.diagnostics("net.py")
        assert (found.code, found.range.start.line) == ("time-limit", 4)  # told by another agent
        editor.edit("net.py", "while True: pass", "return x[0] if len(x) else x")
        assert {item.code for item in await editor.diagnostics("net.py")} == {"len"}


async def test_a_failing_import_is_reported_in_the_file_that_fails(editor: Editor) -> None:
    editor.open("helper.py", "import torch\n\nscale = 1 / 0\n")
    editor.open("net.py", "from helper import scale\n" + GOOD)
    (found,) = await diagnostics_of(editor, "helper.py")
    assert (found.code, editor.text("helper.py", found.range)) == ("import", "1 / 0")
    editor.edit("helper.py", "1 / 0", "1 / 1")
    await editor.until(lambda: not any(params.diagnostics for params in editor.published.values()))


async def diagnostics_of(editor: Editor, name: str) -> list[types.Diagnostic]:
    """The first diagnostics of a file that are not empty."""
    await editor.until(lambda: name in editor.published and bool(editor.published[name].diagnostics))
    return list(editor.published[name].diagnostics)
