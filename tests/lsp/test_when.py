"""When files are traced: while they are typed in, when they are saved, when the user asks, or not at all."""

from pathlib import Path

import pytest
from lsprotocol import types

from tests.lsp.editor import Editor

pytestmark = pytest.mark.asyncio(loop_scope="module")

GOOD = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x + 1
"""


def traces(editor: Editor) -> int:
    """How often the tracing process was set to work."""
    return [status.phase for status in editor.statuses].count("busy")


async def run(editor: Editor, command: str, *arguments: str) -> None:
    await editor.client.workspace_execute_command_async(types.ExecuteCommandParams(command, list(arguments)))


async def test_on_save_nothing_is_traced_before_a_save(folder: Path) -> None:
    async with Editor(folder).session(settings={"trace": "onSave", "cache": False}) as editor:
        editor.open("net.py", GOOD)
        editor.edit("net.py", "x + 1", "len(x)")
        await editor.settled()
        assert editor.agents() == [], "no tracing process was started"
        editor.save("net.py")
        assert [item.code for item in await editor.diagnostics("net.py")] == ["len"]
        count = traces(editor)
        editor.edit("net.py", "len(x)", "x + 2")
        await editor.settled()
        assert traces(editor) == count
        assert [item.code for item in editor.published["net.py"].diagnostics] == ["len"], "it stays until then"
        editor.save("net.py")
        assert await editor.diagnostics("net.py") == []


async def test_on_save_reports_that_were_kept_are_checked_once_it_is_quiet(folder: Path) -> None:
    other = GOOD.partition("class")[2].replace("Net", "Other").replace("x + 1", "len(x)")
    async with Editor(folder).session(settings={"trace": "onSave", "cache": False}) as editor:
        editor.open("net.py", f"{GOOD}\n\nclass{other}")
        editor.save("net.py")  # perhaps before the settings have arrived
        assert [item.code for item in await editor.diagnostics("net.py")] == ["len"]
        for number in (1, 2):  # the first edit has all reports made anew
            count = traces(editor)
            editor.edit("net.py", f"x + {number}", f"x + {number + 1}")
            editor.save("net.py")
            await editor.until(lambda: traces(editor) > count)  # noqa: B023 (awaited at once)
            await editor.settled()
        await editor.until(lambda: traces(editor) > count + 1)


async def test_manually_nothing_is_traced_until_asked(folder: Path) -> None:
    async with Editor(folder).session(settings={"trace": "manual", "cache": False}) as editor:
        editor.open("net.py", GOOD)
        editor.edit("net.py", "x + 1", "len(x)")
        editor.save("net.py")
        await editor.settled()
        assert editor.agents() == []
        (lens,) = await editor.lenses("net.py")
        assert lens.command
        assert lens.command.title == "not traced"
        await run(editor, "fxLsp.traceFile", editor.uri("net.py"))
        assert [item.code for item in await editor.diagnostics("net.py")] == ["len"]


async def test_paused_nothing_is_traced_until_it_goes_on(editor: Editor) -> None:
    editor.open("net.py", GOOD)
    assert await editor.diagnostics("net.py") == []
    await run(editor, "fxLsp.pause")
    await editor.until(lambda: editor.statuses[-1].phase == "paused")
    count = traces(editor)
    editor.edit("net.py", "x + 1", "len(x)")
    editor.save("net.py")
    await editor.settled()
    assert (traces(editor), editor.statuses[-1].phase) == (count, "paused")
    await run(editor, "fxLsp.resume")
    assert [item.code for item in await editor.diagnostics("net.py")] == ["len"]
    assert editor.statuses[-1].phase != "paused"


async def test_paused_a_file_is_traced_if_the_user_asks(new_editor: Editor) -> None:
    editor = new_editor
    await run(editor, "fxLsp.pause")
    editor.open("net.py", GOOD.replace("x + 1", "len(x)"))
    await editor.settled()
    assert editor.agents() == []
    await run(editor, "fxLsp.traceFile", editor.uri("net.py"))
    assert [item.code for item in await editor.diagnostics("net.py")] == ["len"]
    await editor.until(lambda: editor.statuses[-1].phase == "paused")


TWO = f"""\
{GOOD}

class Other(nn.Module):
    def forward(self, x):
        return x / len(x)
"""


async def test_what_an_edit_does_not_reach_is_traced_again_once_the_file_is_quiet(editor: Editor) -> None:
    editor.open("net.py", TWO)
    await editor.diagnostics("net.py")
    count = traces(editor)
    editor.edit("net.py", "x + 1", "x + 2")
    assert [item.code for item in await editor.diagnostics("net.py")] == ["len"]
    await editor.until(lambda: traces(editor) == count + 2)
