"""Captures in the editor: made where the workspace uses them or on request, after the results of tracing."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from lsprotocol import types

from tests.lsp.editor import Editor

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(torch.__version__ < "2.8", reason="older versions are not checked"),
]

OPTIONS = {"commands": ["fxLsp.tryCaptures", "fxLsp.openForward"]}

WORKSPACES = Path(__file__).parents[1] / "workspaces" / "captures"
NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x / len(x.shape)


Net()(torch.ones(3, 4))
"""
EXPORT = "import torch\nfrom net import Net\n\ntorch.export.export(Net(), (torch.ones(3, 4),))\n"


def show(editor: Editor, workspace: str, name: str) -> None:
    """Fill the editor's folder with a workspace, and open one of its files."""
    shutil.copytree(WORKSPACES / workspace, editor.folder, dirs_exist_ok=True)
    editor.open(name, (editor.folder / name).read_text(encoding="utf-8"))


def shown(editor: Editor, name: str) -> list[tuple[str, str]]:
    """The code and the text of each problem that is shown now."""
    published = editor.published.get(name)
    return [(str(item.code), editor.text(name, item.range)) for item in (published.diagnostics if published else ())]


async def titles(editor: Editor, name: str) -> list[str]:
    """The lenses of a document."""
    return [lens.command.title for lens in await editor.lenses(name) if lens.command]


async def changed(editor: Editor, count: int) -> None:
    """Wait until the server has told of more than ``count`` changes."""
    await editor.until(lambda: len(editor.changes) > count)


async def restart_agents(editor: Editor) -> None:
    """End the agents; the next trace starts the one that it needs."""
    await editor.client.workspace_execute_command_async(types.ExecuteCommandParams("fxLsp.restartAgent"))
    while editor.agents():
        await asyncio.sleep(0.01)


async def lens_becomes(editor: Editor, name: str, *wanted: str) -> None:
    """Wait until all these lenses are shown."""
    while True:
        count = len(editor.changes)
        if set(wanted) <= set(await titles(editor, name)):
            return
        await changed(editor, count)


async def test_a_class_that_is_only_exported_is_judged_by_export(editor: Editor) -> None:
    show(editor, "export_one_of_several", "models.py")
    exported = ["✗ fx: 1 place · ✓ export (dynamic batch)", "✗ fx: 2 places · ✓ export (dynamic batch)"]
    await lens_becomes(editor, "models.py", *exported)
    assert await titles(editor, "models.py") == [
        *(title for summary in exported for title in (summary, "exported program")),
        *("✗ 1 place", "try export and compile"),
    ]
    await editor.until(lambda: shown(editor, "models.py") == [("control-flow", "x.sum() > 0")])
    hover = await editor.hover("models.py", "Classifier")
    assert "can't be traced" in hover
    assert "not shown as a problem" in hover
    assert "`torch.export`: it can be exported for `x: [2, 4]`, and with a batch of any size." in hover


async def test_an_exported_program_can_be_shown(editor: Editor) -> None:
    editor.write("save.py", EXPORT)
    editor.open("net.py", NET)
    await lens_becomes(editor, "net.py", "exported program")
    lens = next(lens for lens in await editor.lenses("net.py") if lens.command and "program" in lens.command.title)
    assert lens.command
    assert lens.command.arguments
    argument: Any = lens.command.arguments[0]
    asked = {**editor.document("net.py"), "target": argument["target"], "capture": argument["capture"]}
    answer = await editor.ask("fx/forward", asked)
    assert 'def forward(self, x: "f32[3, 4]")' in answer.text
    assert "torch.ops.aten.div" in answer.text
    assert (await editor.ask("fx/forward", {**asked, "capture": None})).text == "", "it can't be traced"


async def test_the_graph_of_an_exported_program_can_be_shown(editor: Editor) -> None:
    editor.write("save.py", EXPORT)
    editor.open("net.py", NET)
    await lens_becomes(editor, "net.py", "✗ fx: 1 place · ✓ export (dynamic batch)")
    asked = {**editor.document("net.py"), "capture": "export"}
    while not (graph := await editor.ask("fx/graph", asked)).nodes:
        await changed(editor, len(editor.changes))
    assert (graph.capture, graph.captures, graph.outcome) == ("export", ["fx", "export"], "traced")
    assert (graph.input, graph.failures) == ("x: [3, 4]", [])
    assert [(node.target, node.shape) for node in graph.nodes][1] == ("aten.div.Tensor", ["3", "4"])
    source = graph.nodes[1].source.range
    assert (source.start.line, source.start.character, source.end.character) == (6, 8, 31)
    traced = await editor.ask("fx/graph", {**asked, "capture": "fx"})
    assert (traced.capture, traced.outcome, len(traced.failures)) == ("fx", "failed", 1)
    untried = await editor.ask("fx/graph", {**asked, "capture": "compile"})
    assert (untried.capture, untried.outcome, untried.nodes) == ("compile", None, [])


async def test_the_graph_of_an_export_that_fails_tells_where(editor: Editor) -> None:
    show(editor, "export_all", "models.py")
    await editor.until(lambda: shown(editor, "models.py") == [("data-dependent-guard", "x.sum() > 0")])
    graph = await editor.ask("fx/graph", {**editor.document("models.py"), "capture": "export"})
    assert (graph.outcome, graph.nodes) == ("failed", [])
    assert [failure.code for failure in graph.failures] == ["data-dependent-guard"]


async def test_a_call_that_exports_can_ask_for_a_dynamic_batch(editor: Editor) -> None:
    editor.write("save.py", EXPORT)
    editor.open("net.py", NET)
    editor.open("save.py", EXPORT)
    await lens_becomes(editor, "net.py", "✗ fx: 1 place · ✓ export (dynamic batch)")
    at = types.Position(3, 8)
    context = types.CodeActionContext([], only=[types.CodeActionKind.RefactorRewrite])
    params = types.CodeActionParams(types.TextDocumentIdentifier(editor.uri("save.py")), types.Range(at, at), context)
    actions = await editor.client.text_document_code_action_async(params)
    assert [action.title for action in actions or []] == ["Export with a dynamic batch"]
    assert 'dynamic_shapes={"x": {0: torch.export.Dim.DYNAMIC}}' in str(actions)


async def test_failures_of_export_are_shown_where_it_is_used(editor: Editor) -> None:
    show(editor, "export_all", "models.py")
    await editor.until(lambda: shown(editor, "models.py") == [("data-dependent-guard", "x.sum() > 0")])
    (problem,) = editor.published["models.py"].diagnostics
    assert problem.severity == types.DiagnosticSeverity.Error
    assert problem.message.endswith("While exporting `Gate`.")
    editor.edit("models.py", "x.sum() > 0", "x.dim() > 0")
    await editor.until(lambda: shown(editor, "models.py") == [])
    await lens_becomes(editor, "models.py", "✗ fx: 1 place · ✓ export (dynamic batch)")


async def test_without_a_use_no_capture_is_made_until_someone_asks(editor: Editor) -> None:
    await restart_agents(editor)
    editor.open("net.py", NET)
    await lens_becomes(editor, "net.py", "✗ 1 place", "try export and compile")
    await editor.settled()
    assert len(editor.agents()) == 1
    lens = next(lens for lens in await editor.lenses("net.py") if lens.command and "try" in lens.command.title)
    assert lens.command
    params = types.ExecuteCommandParams(lens.command.command, lens.command.arguments)
    await editor.client.workspace_execute_command_async(params)
    await lens_becomes(editor, "net.py", "✗ fx: 1 place · ✓ export (dynamic batch) · ✓ compile")
    assert len(editor.agents()) == 2
    assert shown(editor, "net.py") == [("len", "len(x.shape)")]


async def test_what_is_used_follows_the_scripts_of_the_workspace(editor: Editor) -> None:
    editor.write("save.py", EXPORT)
    editor.open("net.py", NET)
    await editor.until(lambda: shown(editor, "net.py") == [] and editor.published.get("net.py") is not None)
    editor.write("save.py", "import torch\n")
    editor.tell_of_files("save.py")
    await editor.until(lambda: shown(editor, "net.py") == [("len", "len(x.shape)")])
    await lens_becomes(editor, "net.py", "✗ 1 place")


async def test_a_script_that_changes_on_disk_is_read_again_even_if_nothing_is_traced(editor: Editor) -> None:
    script = "import torch\nimport net\n\ntorch.export.export(net.model, (torch.ones(3, 4),))\n"
    editor.write("save.py", script)
    editor.open("net.py", NET.replace("Net()(", "model = Net()\nmodel("))
    await editor.until(lambda: shown(editor, "net.py") == [] and editor.published.get("net.py") is not None)
    await editor.settled()
    editor.write("save.py", script.replace("torch.export.export", "print"))
    editor.tell_of_files("save.py")
    await editor.until(lambda: shown(editor, "net.py") == [("len", "len(x.shape)")])


async def test_a_fix_of_several_edits_is_offered_once_it_is_proven(editor: Editor) -> None:
    editor.write("save.py", EXPORT)
    old = "        y = x * 2 if int(x.sum()) > 0 else x - 1\n        return y\n"
    editor.open("net.py", NET.replace("        return x / len(x.shape)\n", old))
    await editor.until(lambda: shown(editor, "net.py") == [("data-dependent-size", "int(x.sum())")])
    preferred: list[types.CodeAction] = []
    while not preferred:
        offered = await editor.quick_fixes("net.py", *editor.published["net.py"].diagnostics)
        preferred = [action for action in offered if action.is_preferred]
        await asyncio.sleep(0.1)
    (action,) = preferred
    assert action.title.startswith("Compute with the tensor instead of int; then choose with torch.where")
    editor.apply(action)
    assert "        y = torch.where(x.sum().long() > 0, x * 2, x - 1)\n        return y\n" in editor.text("net.py")
    await editor.until(lambda: shown(editor, "net.py") == [])
    await lens_becomes(editor, "net.py", "exported program")


@pytest.mark.parametrize(
    ("captures", "codes"),
    [
        (["fx"], ["control-flow"]),
        (["export", "compile"], ["data-dependent-guard", "graph-break"]),
        (["compile"], ["graph-break"]),
    ],
)
async def test_a_list_of_captures_counts_for_all_classes(editor: Editor, captures: list[str], codes: list[str]) -> None:
    await editor.configure(captures=captures)
    show(editor, "export_one_of_several", "models.py")
    await editor.until(
        lambda: sorted({code for code, text in shown(editor, "models.py") if text == "x.sum() > 0"}) == codes
    )
