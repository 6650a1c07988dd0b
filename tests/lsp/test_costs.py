"""What a model costs, in the editor: lens and hover."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from fx_lsp.analysis.chosen_inputs import NO_ARGUMENTS
from tests.lsp.editor import PATIENCE, Editor

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODEL = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1, bias=False)

    def forward(self, x):
        return torch.relu(self.conv(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 4, stride=4)
        self.block = Block(8)
        self.unused = nn.Linear(2, 2)
        self.width = 8

    def forward(self, x):
        x = self.stem(x)
        x = self.block(self.block(x))
        return x @ x


Net()(torch.zeros(2, 3, 64, 64))
"""

STEM = 2 * 2 * 8 * 16 * 16 * (3 * 4 * 4)
BLOCKS = 2 * 2 * 2 * 8 * 16 * 16 * (8 * 3 * 3)
PRODUCT = 2 * 2 * 8 * 16 * 16 * 16


async def counted(editor: Editor, name: str) -> list[str]:
    """The titles of the lenses, when the costs of every target are in them."""

    async def poll() -> list[str]:
        while True:
            titles = [lens.command.title for lens in await editor.lenses(name) if lens.command]
            summaries = [title for title in titles if title.startswith("✓")]
            if summaries and all("FLOPs" in title for title in summaries):
                return summaries
            await asyncio.sleep(0.05)

    return await asyncio.wait_for(poll(), PATIENCE)


async def test_lens_and_hover_show_what_a_model_and_its_parts_cost(editor: Editor) -> None:
    assert (STEM, BLOCKS, PRODUCT) == (393216, 1179648, 131072)
    editor.open("model.py", MODEL)
    await editor.diagnostics("model.py")
    block, net = await counted(editor, "model.py")
    assert block.startswith("✓ traces · 4 nodes · 576 parameters · ")
    assert net == "✓ traces · 8 nodes · 974 parameters · 1.7 MFLOPs at [2, 3, 64, 64]"
    assert "**974 (3.8 KiB float32)** parameters" in await editor.hover("model.py", "Net(nn")
    assert "1.7 MFLOPs** (a multiply-add is two)" in await editor.hover("model.py", "Net(nn")
    stem = await editor.hover("model.py", "self.stem = ")
    assert stem.startswith("`stem` (Conv2d, Net): 392 (1.53 KiB float32) parameters, 40.2 % · 393 kFLOPs, 23.1 %")
    assert "for `x: [2, 3, 64, 64]`" in stem
    assert await editor.hover("model.py", "self.width = 8") == ""
    unused = await editor.hover("model.py", "self.unused")
    assert "6 (24 B float32) parameters" in unused
    assert "FLOPs" not in unused
    call = await editor.hover("model.py", "self.stem(x)")
    assert "`stem` (Conv2d): 392" in call
    twice = await editor.hover("model.py", "self.block(self")
    assert "`block` (Block, all 2 calls): 576" in twice
    assert "1.18 MFLOPs" in twice
    product = await editor.hover("model.py", "@ x")
    relu = await editor.hover("model.py", "torch.relu")
    assert "FLOPs" not in relu, "torch has no formula for it"
    assert "for the result, for `x: [2, 3, 64, 64]`." in relu
    assert "131 k FLOPs · 16 KiB for the result, for `x: [2, 3, 64, 64]`." in product


async def for_input(editor: Editor, name: str, title: str, inputs: str) -> Any:
    """The graph of a target for ``inputs``, when it is known what came of them."""
    keys = {target["title"]: target["key"] for target in await editor.ask("fx/targets", editor.document(name))}
    params = {**editor.document(name), "target": keys[title], "inputs": inputs}

    async def poll() -> Any:
        while (graph := await editor.ask("fx/graph", params)).chosen.pending:
            await asyncio.sleep(0.05)
        return graph

    return await asyncio.wait_for(poll(), PATIENCE)


async def test_the_graph_is_counted_for_an_input_that_is_asked_for(editor: Editor) -> None:
    editor.open("chosen.py", MODEL)
    await editor.diagnostics("chosen.py")
    await counted(editor, "chosen.py")
    graph = await for_input(editor, "chosen.py", "Net", "x=torch.zeros(4, 3, 128, 128)")
    assert graph.chosen.problem is None
    assert (graph.input, graph.costs.input) == ("x: [4, 3, 128, 128]", "x: [4, 3, 128, 128]")
    # Of the product of square maps, the cost of each pixel grows with the side, too.
    assert graph.costs.modules[0].flops == 8 * (STEM + BLOCKS) + 16 * PRODUCT
    flops = {node.name: node.flops for node in graph.nodes}
    assert flops["stem"] == 8 * STEM
    assert {node.value for node in graph.nodes if node.name == "stem"} == {"[b, 8, 32, 32] float32"}
    assert "at [2, 3, 64, 64]" in (await counted(editor, "chosen.py"))[1], "the lens stays for the input that was found"

    refused = await for_input(editor, "chosen.py", "Net", "torch.zeros(4, 5, 128, 128)")
    assert refused.chosen.problem.startswith("the model does not accept it, at `stem`: RuntimeError: ")
    assert refused.costs.input == "x: [4, 3, 128, 128]", "the former numbers stay"
    unknown = await for_input(editor, "chosen.py", "Net", "numbers(4)")
    assert unknown.chosen.problem == "the input can't be evaluated: NameError: name 'numbers' is not defined"
    invalid = await for_input(editor, "chosen.py", "Net", "torch.zeros(")
    assert invalid.chosen.problem == NO_ARGUMENTS

    found = await editor.ask("fx/graph", {**editor.document("chosen.py"), "target": graph.target.key, "inputs": ""})
    assert (found.input, found.costs.input, found.chosen) == ("x: [2, 3, 64, 64]", "x: [2, 3, 64, 64]", None)


async def test_an_input_that_was_asked_for_is_counted_again_after_an_edit(editor: Editor) -> None:
    editor.open("edited.py", MODEL)
    await editor.diagnostics("edited.py")
    graph = await for_input(editor, "edited.py", "Block", "torch.zeros(1, 8, 4, 4)")
    before = graph.costs.modules[0].flops
    assert before == 2 * 8 * 4 * 4 * (8 * 3 * 3)
    editor.edit("edited.py", "torch.relu(self.conv(x))", "torch.relu(self.conv(self.conv(x)))")
    await editor.diagnostics("edited.py")
    graph = await for_input(editor, "edited.py", "Block", "torch.zeros(1, 8, 4, 4)")
    assert graph.costs.modules[0].flops == 2 * before


EXPECTING = """\
import torch
from torch import nn


# fx: expect(parameters < 1k, flops < 1G)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 200)

    def forward(self, x):
        return self.second(self.first(x))


Net()(torch.zeros(2, 8))
"""


async def test_an_expectation_that_does_not_hold_is_a_warning_until_it_is_mended(editor: Editor) -> None:
    editor.open("expecting.py", EXPECTING)

    def published() -> list[str]:
        shown = editor.published.get("expecting.py")
        return [str(one.message) for one in shown.diagnostics] if shown else []

    await editor.until(lambda: bool(published()))
    (found,) = editor.published["expecting.py"].diagnostics
    assert (found.code, found.severity) == ("expectation", types.DiagnosticSeverity.Warning)
    assert editor.text("expecting.py", found.range) == "parameters < 1k"
    assert found.message.startswith(
        "`parameters < 1k` does not hold: the model has 1.87 k parameters. "
        "The largest submodule is `second` (Linear), with 1.8 k parameters."
    )
    editor.edit("expecting.py", "200", "100")
    await editor.until(lambda: not published())
    editor.edit("expecting.py", "100", "300")
    await editor.until(lambda: any("2.77 k parameters" in message for message in published()))
    editor.edit("expecting.py", "1k", "3k")
    await editor.until(lambda: not published())


def commit(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    identity = ("-c", "user.name=Someone", "-c", "user.email=someone@example.com")
    for arguments in (("init", "-q"), ("add", path.name), (*identity, "commit", "-q", "-m", "Change the model")):
        subprocess.run(["git", *arguments], cwd=path.parent, check=True)


async def test_the_submodule_that_has_grown_since_the_expectation_held_is_named(editor: Editor) -> None:
    path = editor.folder / "grown" / "growing.py"
    path.parent.mkdir()
    held = EXPECTING.replace("nn.Linear(8, 200)", "nn.Linear(8, 100)")
    commit(path, held.replace("Linear(8, 100)", "Linear(8, 90)"))
    commit(path, held)
    listed = subprocess.run(["git", "log", "-1", "--format=%h"], cwd=path.parent, check=True, capture_output=True)
    last_held = listed.stdout.decode().strip()
    # Of the two, `second` stays larger, but `first` grows more.
    grown = held.replace("(8, 8)", "(8, 60)").replace("(8, 100)", "(60, 15)")
    commit(path, grown)
    editor.open("grown/growing.py", grown)

    def message() -> str:
        shown = editor.published.get("grown/growing.py")
        return str(shown.diagnostics[0].message) if shown and shown.diagnostics else ""

    await editor.until(lambda: "does not hold" in message())
    await editor.until(lambda: last_held in message())
    assert (
        f"It held for this file as of commit `{last_held}`; since then, `first` (Linear) has grown most, "
        "to 540 parameters (up from 72 parameters)."
    ) in message()
