"""What a traced model brings to the editor: lenses, shapes, nodes, the generated forward, the graph."""

from pathlib import Path
from typing import Any

import pytest
import torch
from lsprotocol import types

from fx_lsp.documents.positions import Encoding
from tests.lsp.editor import Editor

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODEL = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        s = "é😋"; y = self.conv(x)
        return x + y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 4, stride=4)
        self.first = Block(8)
        self.down = nn.Conv2d(8, 16, 2, stride=2)
        self.second = Block(16)
        self.last = nn.Sequential(nn.Linear(16, 4), nn.Linear(4, 2))

    def forward(self, x):
        x = self.stem(x)
        z = self.second(self.down(self.first(x)))
        pooled = z.mean((2, 3))
        logits = self.last(pooled)
        return logits.softmax(1)


def broken(x):
    if x.sum() > 0:
        x = x + 1
    return x / len(x)


Net()(torch.zeros(2, 3, 64, 64))
torch.fx.symbolic_trace(broken)
"""


async def opened(editor: Editor) -> None:
    editor.open("model.py", MODEL)
    await editor.diagnostics("model.py")
    await editor.described("model.py", "conv", "softmax")  # of Block and of Net, which are traced side by side


def source_of(editor: Editor, item: Any) -> str:
    """The text that a location in one of the server's answers points to."""
    if item.source is None:
        return ""
    assert item.source.uri == editor.uri("model.py")
    start, end = item.source.range.start, item.source.range.end
    found = types.Range(types.Position(start.line, start.character), types.Position(end.line, end.character))
    return editor.text("model.py", found)


async def test_a_lens_shows_the_outcome_of_each_target_and_runs_a_command_of_the_client(folder: Path) -> None:
    commands = ["fxLsp.openForward", "fxLsp.showFailures"]
    async with Editor(folder).session(settings={"costs": "hover"}, options={"commands": commands}) as editor:
        await opened(editor)  # the costs would be in the lenses as soon as they are counted
        lenses = [(editor.text("model.py", lens.range), lens.command) for lens in await editor.lenses("model.py")]
        assert [(text, command.title, command.command) for text, command in lenses if command] == [
            ("class Block", "✓ traces · 4 nodes · 584 parameters", "fxLsp.openForward"),
            ("class Net", "✓ traces · 12 nodes · 3.9 k parameters", "fxLsp.openForward"),
            ("def broken", "✗ 2 places", "fxLsp.showFailures"),
        ]
        command = lenses[2][1]
        assert command is not None
        assert command.arguments is not None
        (argument,) = command.arguments
        assert isinstance(argument, dict)
        assert argument["uri"] == editor.uri("model.py")
        assert len(argument["locations"]) == 2
        assert (await editor.ask("fx/graph", {**editor.document("model.py"), "target": argument["target"]})).failures

        editor.edit("model.py", "class Block", "class Block(  # half typed\n\nclass Block")
        lenses = [(editor.text("model.py", lens.range), lens.command) for lens in await editor.lenses("model.py")]
        assert [text for text, _ in lenses] == ["class Block", "class Net", "def broken"], "they stay where they were"


async def test_a_lens_is_shown_even_if_the_client_has_no_command_for_it(editor: Editor) -> None:
    await opened(editor)
    commands = [lens.command for lens in await editor.lenses("model.py")]
    assert [command.command for command in commands if command] == ["", "", ""]
    assert [command.arguments for command in commands if command] == [None, None, None]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_shapes_are_shown_where_all_calls_agree_and_stay_while_their_statement_is_edited(
    folder: Path, encoding: Encoding
) -> None:
    async with Editor(folder, encoding=encoding).session() as editor:
        await opened(editor)
        hints = {
            "x": ": [b, 8, h/4, w/4]",
            "z": ": [b, 16, h/8, w/8]",
            "pooled": ": [b, 16]",
            "logits": ": [b, 2]",
            "return logits.softmax(1)": " → [b, 2]",
        }
        assert await editor.hints("model.py") == hints, "not in the block, which is used for two widths"
        editor.edit("model.py", "import torch\n", "import torch\n\n# 😋\n")
        assert await editor.hints("model.py") == hints
        editor.edit("model.py", "z.mean((2, 3))", "z.mean((2, 3)).abs(")
        assert await editor.hints("model.py") == hints
        editor.edit("model.py", "softmax(1)", "softmax(1) * (")
        hints["return logits.softmax(1) * ("] = hints.pop("return logits.softmax(1)")
        assert await editor.hints("model.py") == hints
        editor.edit("model.py", "        pooled = z.mean((2, 3)).abs(\n", "")
        del hints["pooled"]
        assert await editor.hints("model.py") == hints
        editor.edit("model.py", "second = Block(16)", "other = Block(16)")
        assert await editor.hints("model.py") == hints


async def test_hints_follow_the_setting(editor: Editor) -> None:
    await editor.configure(shapes="hover")
    await opened(editor)
    assert await editor.hints("model.py") == {}
    assert "`[b, 16] float32`" in await editor.hover("model.py", "z.mean")
    await editor.configure(shapes="off")
    shown = await editor.hover("model.py", "z.mean")
    assert "`mean` = `mean`" in shown
    assert "float32" not in shown


async def test_hover_names_the_nodes_that_an_expression_became(editor: Editor) -> None:
    await opened(editor)
    shown = await editor.hover("model.py", "conv(x)")
    assert "1 node in the graph of `Block`" in shown
    assert (
        "2 nodes in the graph of `Net`:\n\n"
        "- `first_conv` = `first.conv` (Conv2d) in `first` → `[b, 8, h/4, w/4] float32`, used by `add`\n"
        "- `second_conv` = `second.conv` (Conv2d) in `second` → `[b, 16, h/8, w/8] float32`, used by `add_1`\n\n"
        "For `x: [2, 3, 64, 64]`, where b = 2, h = 64, w = 64."
    ) in shown
    on_forward = await editor.hover("model.py", "forward(self, x):\n        x = self.stem")
    assert "12 nodes" in on_forward
    assert "def forward(self, x):" in on_forward
    editor.edit("model.py", "class Block", "class Half(\n\nclass Block")
    assert (await editor.hover("model.py", "conv(x)")).endswith(
        "*These nodes are from the last version that was traced.*"
    )


async def test_each_line_of_the_generated_forward_names_its_source(editor: Editor) -> None:
    await opened(editor)
    forward = await editor.ask("fx/forward", {**editor.document("model.py"), "target": "class:Net"})
    lines = forward.text.splitlines()
    assert lines[0] == "def forward(self, x):"
    assert lines[-1] == "    return softmax"
    assert not forward.stale
    found = {item.node: (lines[item.line].split(";")[0].strip(), source_of(editor, item)) for item in forward.lines}
    assert found["first_conv"] == ("first_conv = self.first.conv(stem)", "self.conv(x)")
    assert found["second_conv"] == ("second_conv = self.second.conv(down)", "self.conv(x)")
    assert found["softmax"] == ("softmax = last_1.softmax(1)", "logits.softmax(1)")
    assert found["output"] == ("return softmax", "")

    editor.edit("model.py", "import torch\n", "import torch\n\n# 😋\n")
    editor.edit("model.py", "logits.softmax(1)", "logits.softmax(0)")
    moved = await editor.ask("fx/forward", {**editor.document("model.py"), "target": "class:Net"})
    sources = {item.node: source_of(editor, item) for item in moved.lines}
    assert moved.stale
    assert (sources["first_conv"], sources["softmax"]) == ("self.conv(x)", "")


async def test_the_graph_has_its_modules_and_its_failures(editor: Editor) -> None:
    await opened(editor)
    line = MODEL[: MODEL.index("z.mean")].count("\n")
    position = {"line": line, "character": 18}
    graph = await editor.ask("fx/graph", {**editor.document("model.py"), "position": position})
    assert graph.target.key == "class:Net"
    assert (graph.input, graph.parameters) == ("x: [2, 3, 64, 64]", 3902)
    assert (graph.symbols.b, graph.symbols.h, graph.symbols.w) == (2, 64, 64)
    nodes = {node.name: node for node in graph.nodes}
    conv = nodes["second_conv"]
    assert (conv.op, conv.target, conv.module, conv.scope) == ("call_module", "second.conv", "Conv2d", "second")
    assert (list(conv.inputs), list(conv.users)) == (["down"], ["add_1"])
    assert (list(conv.shape), conv.dtype, conv.line) == (["b", "16", "h/8", "w/8"], "float32", 5)
    assert not hasattr(conv, "span")
    assert source_of(editor, conv) == "self.conv(x)"
    called = [(call.path, call.depth) for call in graph.order]
    assert called[:4] == [("", 0), ("stem", 1), ("first", 1), ("first.conv", 2)]
    assert [use.name for use in graph.order[1].parameters] == ["stem.weight", "stem.bias"]

    targets = await editor.ask("fx/targets", editor.document("model.py"))
    (key,) = [target["key"] for target in targets if target["outcome"] == "failed"]
    failing = await editor.ask("fx/graph", {**editor.document("model.py"), "target": key})
    assert [failure.code for failure in failing.failures] == ["control-flow", "len"]
    assert failing.input is None


async def test_the_graph_of_a_failing_target_continues_past_failures_and_names_the_failing_nodes(
    editor: Editor,
) -> None:
    editor.open("model.py", MODEL)
    await editor.diagnostics("model.py")
    targets = await editor.ask("fx/targets", editor.document("model.py"))
    (key,) = [target["key"] for target in targets if target["outcome"] == "failed"]

    async def graph() -> Any:
        """The failing target's graph, as soon as the server has it."""
        params = {**editor.document("model.py"), "target": key}
        while True:
            editor.changes.clear()
            asked = await editor.ask("fx/graph", params)
            if asked.nodes:
                return asked
            await editor.until(lambda: any(key in change.targets for change in editor.changes))

    failing = await graph()
    assert [(node.name, node.op) for node in failing.nodes] == [
        ("x", "placeholder"),
        ("sum_1", "call_method"),
        ("gt", "call_function"),
        ("truediv", "call_function"),
        ("output", "output"),
    ]
    assert [list(failure.nodes) for failure in failing.failures] == [["gt"], ["x"]]
    nodes = {node.name: node for node in failing.nodes}
    assert source_of(editor, nodes["gt"]) == "x.sum() > 0"
    assert {node.value for node in failing.nodes} == {""}, "nothing that rests on assumptions is told of values"
    assert "sum_1" not in await editor.hover("model.py", "x.sum() > 0")
    assert failing.target.summary == "✗ 2 places"

    editor.edit("model.py", "x / len(x)", "x / x.numel()")
    await editor.diagnostics("model.py")
    failing = await graph()
    assert [list(failure.nodes) for failure in failing.failures] == [["gt"]]
    assert [node.name for node in failing.nodes][-2:] == ["truediv", "output"]

    editor.edit("model.py", "if x.sum() > 0:", "if True:")
    await editor.described("model.py", "numel")
    fine = await graph()
    assert (fine.target.outcome, list(fine.failures)) == ("traced", [])


async def test_a_position_selects_the_class_or_function_around_it(editor: Editor) -> None:
    text = MODEL.replace("class Net", "import math\n\n\n@str\nclass Unrelated:\n    pass\n\n\nclass Net", 1)
    editor.open("model.py", text)
    await editor.diagnostics("model.py")

    async def chosen(at: str) -> str | None:
        line = editor.text("model.py").partition(at)[0].count("\n")
        position = {"line": line, "character": 0}
        forward = await editor.ask("fx/forward", {**editor.document("model.py"), "position": position})
        return None if forward is None else str(forward.target.title)

    expected = {
        "import torch": "Block",
        "class Block": "Block",
        "self.conv = ": "Block",
        "@str": None,
        "class Unrelated": None,
        "class Net": "Net",
        "self.stem = ": "Net",
        "return logits": "Net",
        "def broken": "torch.fx.symbolic_trace(broken)",
        "return x / len": "torch.fx.symbolic_trace(broken)",
        "torch.fx.symbolic_trace": "torch.fx.symbolic_trace(broken)",
    }
    assert {at: await chosen(at) for at in expected} == expected
    editor.edit("model.py", "class Net", "class Net(  # half typed\n\nclass Net")
    assert {at: await chosen(at) for at in ("self.conv = ", "self.stem = ")} == {
        "self.conv = ": "Block",
        "self.stem = ": "Net",
    }


async def test_a_traced_model_is_returned_as_a_standalone_module(editor: Editor) -> None:
    await opened(editor)
    module = await editor.ask("fx/module", {**editor.document("model.py"), "target": "class:Net"})
    assert not module.stale
    written: dict[str, Any] = {}
    exec(module.text, written)
    source: dict[str, Any] = {}
    exec(MODEL.partition("\n\n\nNet()")[0], source)
    net, images = source["Net"](), torch.rand(2, 3, 64, 64)
    assert torch.equal(written["NetTraced"](net)(images), net(images))

    targets = await editor.ask("fx/targets", editor.document("model.py"))
    (failing_key,) = (target["key"] for target in targets if target["outcome"] == "failed")
    failing = await editor.ask("fx/module", {**editor.document("model.py"), "target": failing_key})
    assert (failing.target.outcome, failing.text) == ("failed", None)


async def test_requests_about_a_file_without_targets_return_null(editor: Editor) -> None:
    editor.open("empty.py", "")
    await editor.diagnostics("empty.py")
    for method in ("fx/forward", "fx/module", "fx/graph"):
        assert await editor.ask(method, editor.document("empty.py")) is None
        assert await editor.ask(method, {**editor.document("empty.py"), "target": "class:Net"}) is None
    assert list(await editor.ask("fx/targets", editor.document("empty.py"))) == []
    assert await editor.lenses("empty.py") == []
    assert await editor.hints("empty.py") == {}


async def test_results_for_an_earlier_text_are_stale_until_newer_text_is_traced(editor: Editor) -> None:
    await opened(editor)

    async def stale() -> set[bool]:
        params = {**editor.document("model.py"), "target": "class:Net"}
        methods = ("fx/forward", "fx/module", "fx/graph")
        exported = await editor.ask("fx/forward", {**params, "capture": "export"})
        captured = await editor.ask("fx/graph", {**params, "capture": "compile"})
        return {exported.stale, captured.stale, *[(await editor.ask(method, params)).stale for method in methods]}

    assert await stale() == {False}
    editor.changes.clear()
    editor.edit("model.py", "logits.softmax(1)", "logits.softmax(1")
    await editor.until(lambda: any(len(change.targets) == 3 for change in editor.changes))
    await editor.settled()
    assert await stale() == {True}, "it can't be traced"
    editor.edit("model.py", "logits.softmax(1", "logits.softmax(0)")
    await editor.diagnostics("model.py")
    graph = await editor.ask("fx/graph", {**editor.document("model.py"), "target": "class:Net"})
    assert graph.nodes, "until it is described, it is the graph before"
    await editor.described("model.py", "softmax")
    assert await stale() == {False}

    await editor.client.workspace_execute_command_async(types.ExecuteCommandParams("fxLsp.pause"))
    editor.changes.clear()
    for _ in range(2):
        editor.edit("model.py", "logits.softmax(0", "1 + logits.softmax(0")
    assert await stale() == {True}, "it won't be traced for now"
    assert [len(change.targets) for change in editor.changes] == [3], "all were told once"
    await editor.client.workspace_execute_command_async(types.ExecuteCommandParams("fxLsp.resume"))
    await editor.described("model.py", "add_1")
    assert await stale() == {False}


async def test_the_server_announces_changes_to_clients_with_views(editor: Editor) -> None:
    await opened(editor)
    assert {change.textDocument.uri for change in editor.changes} == {editor.uri("model.py")}
    editor.changes.clear()
    editor.edit("model.py", "softmax(1)", "tanh()")
    await editor.described("model.py", "tanh")
    assert "class:Net" in {key for change in editor.changes for key in change.targets}
