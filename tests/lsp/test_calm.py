"""What an editor shows stays calm: no edit takes a right diagnostic away and puts it back."""

import pytest
from lsprotocol import types

from tests.lsp.editor import Editor

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODEL = """\
import torch
from torch import nn


class Quick(nn.Module):
    def forward(self, x):
        return x + 1


class Gate(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = nn.Sequential(*[Gate() for _ in range(20)])

    def forward(self, x):
        return self.gates(x) / len(x)
"""


def without(code: str, editor: Editor) -> list[tuple[int, list[int | str | None]]]:
    """The publications that lack a diagnostic of a rule: the version of the text then, the rules they have."""
    found = [(version, [item.code for item in shown]) for _, version, shown in editor.publications]
    return [(version, codes) for version, codes in found if code not in codes]


async def test_edits_of_a_failing_condition_take_no_diagnostic_away(editor: Editor) -> None:
    editor.open("model.py", MODEL)
    await editor.diagnostics("model.py")
    editor.publications.clear()
    for number in range(1, 13):
        editor.edit("model.py", "x.sum() >", "x.sum() > (")
        await editor.settled()
        editor.edit("model.py", "> (", f"> {number} +")
        await editor.diagnostics("model.py")
    assert editor.publications
    assert without("control-flow", editor) == []
    assert without("len", editor) == [], "behind the first failure"


async def test_fast_edits_take_no_diagnostic_away(editor: Editor) -> None:
    editor.open("model.py", MODEL)
    await editor.diagnostics("model.py")
    editor.publications.clear()
    for digit in "123456":
        editor.edit("model.py", "> ", f"> {digit}")
        await editor.settled()
    found = await editor.diagnostics("model.py")
    (condition,) = (item for item in found if item.code == "control-flow")
    assert editor.text("model.py", condition.range) == "x.sum() > 6543210"
    assert without("control-flow", editor) == []


async def test_a_diagnostic_that_was_mended_goes_and_does_not_come_back(editor: Editor) -> None:
    editor.open("model.py", MODEL)
    await editor.diagnostics("model.py")
    editor.publications.clear()
    editor.edit("model.py", "if x.sum() > 0:", "if x.dim() > 0:")
    editor.edit("model.py", "x.dim() > 0", "True")
    assert [item.code for item in await editor.diagnostics("model.py")] == ["len"]
    shown = ["control-flow" in [item.code for item in found] for _, _, found in editor.publications]
    assert shown == sorted(shown, reverse=True)


async def test_an_edit_that_changes_no_diagnostic_is_published_once_for_its_version(editor: Editor) -> None:
    editor.open("model.py", MODEL)
    await editor.diagnostics("model.py")
    editor.publications.clear()
    editor.edit("model.py", "x + 1", "x + 2")
    await editor.diagnostics("model.py")
    editor.edit("model.py", "x + 2", "x + 3")
    await editor.diagnostics("model.py")
    assert [version for _, version, _ in editor.publications] == [2, 3]


async def test_tracing_a_file_from_scratch_takes_no_diagnostic_away(editor: Editor) -> None:
    editor.open("model.py", MODEL)
    await editor.diagnostics("model.py")
    editor.publications.clear()
    command = types.ExecuteCommandParams("fxLsp.traceFile", [editor.uri("model.py")])
    await editor.client.workspace_execute_command_async(command)
    await editor.until(lambda: any(status.phase == "busy" for status in editor.statuses))
    editor.edit("model.py", "x + 1", "x + 2")
    await editor.diagnostics("model.py")
    assert without("control-flow", editor) == []
