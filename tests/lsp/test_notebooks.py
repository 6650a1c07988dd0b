"""Notebooks: what is known of the one module that their cells are is shown in the right cell."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types

from fx_lsp.documents.positions import Encoding
from tests.lsp.notebook import NotebookEditor

CELLS = {
    "cell 1": "%matplotlib inline\nimport torch\nfrom torch import nn\n!pip install é😋",
    "cell 2": """s = "é😋"; import numpy
class Net(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.linear = nn.Linear(width, 2)

    def forward(self, x):
        s = "é😋"; y = self.linear(x) / len(x)
        return helper(y)""",
    "cell 3": "%%time\ndef helper(y):\n    s = '😋'; return y if y.sum() > 0 else -y",
    "cell 4": "files = !ls\nNet?\nNet(4)(torch.zeros(3, 4))\n",
}


@pytest_asyncio.fixture
async def editor(folder: Path) -> AsyncIterator[NotebookEditor]:
    options = {"commands": ["fxLsp.openForward", "fxLsp.showFailures"], "views": True}
    async with NotebookEditor(folder).session(options=options) as editor:
        assert isinstance(editor, NotebookEditor)
        yield editor


async def underlined(editor: NotebookEditor, *names: str) -> dict[str, list[tuple[str, object]]]:
    """In each of these cells, the texts that are underlined, with the codes."""
    return {
        name: sorted((editor.text(name, item.range), item.code) for item in await editor.diagnostics(name))
        for name in names
    }


async def shows(editor: NotebookEditor, expected: dict[str, list[str]]) -> None:
    """Wait until exactly these texts are underlined."""

    def shown(name: str) -> list[str]:
        published = editor.published.get(name)
        return [editor.text(name, item.range) for item in published.diagnostics] if published else []

    await editor.until(lambda: {name: shown(name) for name in expected} == expected)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_problems_are_shown_in_the_cell_that_they_are_in(folder: Path, encoding: Encoding) -> None:
    editor = NotebookEditor(folder, encoding=encoding)
    async with editor.session():
        editor.open_notebook(CELLS)
        expected = {
            "cell 1": [],
            "cell 2": [("len(x)", "len")],
            "cell 3": [("y.sum() > 0", "control-flow")],
            "cell 4": [],
        }
        assert await underlined(editor, *CELLS) == expected
        (there,) = await editor.diagnostics("cell 3")
        (way, *_) = there.related_information or ()
        assert way.location.uri == editor.uri("cell 2")
        assert editor.text("cell 2", way.location.range) == "helper(y)"


async def test_cells_are_edited_added_moved_and_removed(editor: NotebookEditor) -> None:
    editor.open_notebook(CELLS)
    assert (await underlined(editor, "cell 2"))["cell 2"] == [("len(x)", "len")]
    editor.edit("cell 2", "len(x)", "x.size(0)")
    editor.edit("cell 1", "!pip", "!pip -q")
    assert await underlined(editor, "cell 1", "cell 2") == {"cell 1": [], "cell 2": []}

    editor.splice(3, 0, {"cell 5": "def helper(y):\n    return y * float(y.sum())"})
    await shows(editor, {"cell 3": [], "cell 5": ["float(y.sum())"]})
    editor.splice(2, 2, {"cell 5": "", "cell 3": ""})
    await shows(editor, {"cell 3": ["y.sum() > 0"], "cell 5": []})
    editor.splice(3, 1, {})
    await shows(editor, {"cell 3": [], "cell 5": ["float(y.sum())"]})
    editor.close_notebook()
    await shows(editor, {"cell 3": [], "cell 5": []})


async def test_running_a_cell_or_editing_a_magic_keeps_the_results(editor: NotebookEditor) -> None:
    editor.open_notebook(CELLS)
    (found,) = await editor.diagnostics("cell 2")
    editor.run_cell("cell 2")
    fixes = await editor.quick_fixes("cell 2", found)
    assert any("x.size(0)" in fix.title for fix in fixes), "the text is the one that was traced"
    editor.edit("cell 4", "!ls", "!cd")
    assert (await editor.diagnostics("cell 4")) == []
    assert await editor.quick_fixes("cell 2", found) == fixes


async def test_fixes_and_comments_go_into_the_right_cells(editor: NotebookEditor) -> None:
    editor.open_notebook(CELLS)
    (found,) = await editor.diagnostics("cell 3")
    fixes = {fix.title: fix for fix in await editor.quick_fixes("cell 3", found)}
    before = {name: editor.text(name) for name in CELLS}
    editor.apply(fixes["Ignore this rule here: control-flow"])
    assert editor.text("cell 3") == before["cell 3"] + "  # fx: ignore[control-flow]"
    assert await underlined(editor, "cell 3") == {"cell 3": []}

    (found,) = await editor.diagnostics("cell 2")
    fixes = {fix.title: fix for fix in await editor.quick_fixes("cell 2", found)}
    (wrap,) = (fix for title, fix in fixes.items() if 'torch.fx.wrap("len")' in title)
    editor.apply(wrap)
    assert editor.text("cell 1") == before["cell 1"] or "import torch.fx" in editor.text("cell 1")
    together = "\n".join(editor.text(name) for name in CELLS)
    assert together.count('torch.fx.wrap("len")') == 1
    assert "import torch.fx" in together
    assert editor.text("cell 3").startswith("%%time\n")
    assert (await underlined(editor, "cell 2"))["cell 2"] == []


async def test_hovers_lenses_hints_and_views_know_their_cell(editor: NotebookEditor) -> None:
    sound = {**CELLS, "cell 2": CELLS["cell 2"].replace("len(x)", "3").replace("helper(y)", "y + 1")}
    editor.open_notebook(sound)
    assert await editor.diagnostics("cell 2") == []
    await editor.described("cell 2", "linear")
    lenses = {name: [editor.text(name, lens.range) for lens in await editor.lenses(name)] for name in CELLS}
    assert lenses == {"cell 1": [], "cell 2": ["class Net"] * len(lenses["cell 2"]), "cell 3": [], "cell 4": []}
    (lens, *_) = await editor.lenses("cell 2")
    assert lens.command is not None
    (argument,) = lens.command.arguments or ()
    assert isinstance(argument, dict)
    assert argument["uri"] == editor.uri("cell 2")
    assert "can be traced" in await editor.hover("cell 2", "Net(nn")
    assert "line 3 of its cell" in await editor.hover("cell 2", "Net(nn")
    assert "1 node in the graph" in await editor.hover("cell 2", "linear(x)")
    assert (await editor.hints("cell 2"))['s = "é😋"; y'] == ": [b, 2]"
    assert await editor.hints("cell 1") == {}

    forward = await editor.ask("fx/forward", {**editor.document("cell 2"), "position": {"line": 7, "character": 0}})
    assert forward.target.uri == editor.uri("cell 4") or forward.target.uri == editor.uri("cell 2")
    (source,) = (line.source for line in forward.lines if line.node == "linear")
    assert source.uri == editor.uri("cell 2")
    assert source.range.start.line == 7
    await editor.until(lambda: any(change.textDocument.uri == editor.uri("cell 2") for change in editor.changes))


async def test_comments_have_help_in_cells(editor: NotebookEditor) -> None:
    text = "s = '😋'; x = len(s)  # fx: ignore[len]\n# fx: sk\nclass Net: ..."
    editor.open_notebook({"cell 1": "import torch", "cell 2": text})
    assert "Suppress problems" in await editor.hover("cell 2", "ignore[")
    identifier = types.TextDocumentIdentifier(editor.uri("cell 2"))
    links = await editor.client.text_document_document_link_async(types.DocumentLinkParams(identifier))
    assert [editor.text("cell 2", link.range) for link in links or ()] == ["len"]
    position = types.Position(1, len("# fx: sk"))
    items = await editor.client.text_document_completion_async(types.CompletionParams(identifier, position))
    assert isinstance(items, (list, tuple))
    assert "skip" in [item.label for item in items]


async def test_jupyter_syntax_and_a_broken_cell_do_not_affect_the_other_cells(editor: NotebookEditor) -> None:
    cells = {
        "cell 1": "import torch, asyncio\nx = await asyncio.gather()\ndisplay(x)\nget_ipython()\nundefined.run(1)",
        "cell 2": "def f(x):\n    return x / len(x)",
        "cell 3": "from torch.fx import symbolic_trace\nsymbolic_trace(f)\nwhile True: pass",
    }
    editor.write("__init__.py", "raise SystemExit")  # a notebook is in no package
    editor.open_notebook(cells)
    assert await underlined(editor, *cells) == {"cell 1": [], "cell 2": [("len(x)", "len")], "cell 3": []}


async def test_a_notebook_without_a_file_is_left_alone(editor: NotebookEditor) -> None:
    notebook = types.NotebookDocument("untitled:Untitled-1.ipynb", "jupyter-notebook", 1, [])
    editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, []))
    editor.open_notebook({"cell 1": CELLS["cell 1"]})
    assert await editor.diagnostics("cell 1") == []
