"""What a person does all day: open, see, hover, fix, edit a helper."""

import sys
from pathlib import Path

import pytest
from lsprotocol import types

from fx_lsp.documents.positions import Encoding
from tests.lsp.editor import Editor

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODEL = """\
import torch
import torch.fx

from helper import scale


class Gate(torch.nn.Module):
    def forward(self, x):
        s = "é😋"; y = x if x.sum() > 0 else -x
        return scale(y)


def normalize(x):
    s = "é😋"; return x / len(x)


torch.fx.symbolic_trace(normalize)
"""
HELPER = "def scale(x):\n    return x * 2\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_diagnostics_lie_on_exactly_the_expression_and_follow_edits(folder: Path, encoding: Encoding) -> None:
    async with Editor(folder, encoding=encoding).session() as editor:
        editor.write("helper.py", HELPER)
        editor.open("model.py", MODEL)
        found = {str(item.code): item for item in await editor.diagnostics("model.py")}
        assert {code: editor.text("model.py", item.range) for code, item in found.items()} == {
            "control-flow": "x.sum() > 0",
            "len": "len(x)",
        }
        assert all(item.source == "fx-lsp" for item in found.values())

        editor.edit("model.py", "import torch.fx\n", "import torch.fx\n\nNAME = 'é😋'\n")
        editor.edit("model.py", "len(x)", "x.size(0)")
        (left,) = await editor.diagnostics("model.py")
        assert editor.text("model.py", left.range) == "x.sum() > 0"

        editor.edit("model.py", "x if x.sum() > 0 else -x", "x.abs()")
        assert await editor.diagnostics("model.py") == []
        assert (folder / "model.py").read_text(encoding="utf-8") == MODEL, "nothing was saved"


async def test_the_quick_fix_makes_the_text_trace(editor: Editor) -> None:
    editor.write("helper.py", HELPER)
    editor.open("model.py", MODEL.replace("x if x.sum() > 0 else -x", "x.abs()"))
    (found,) = await editor.diagnostics("model.py")
    fixes = await editor.quick_fixes("model.py", found)
    fix = next(fix for fix in fixes if fix.title.startswith("Insert torch.fx.wrap"))
    assert fix.kind == types.CodeActionKind.QuickFix
    assert fix.diagnostics is not None
    assert [item.message for item in fix.diagnostics] == [found.message]
    editor.apply(fix)
    assert 'torch.fx.wrap("len")' in editor.text("model.py")
    assert await editor.diagnostics("model.py") == []
    assert "len_1 = len(x)" in await editor.hover("model.py", "normalize(x)")


async def test_without_libcst_the_quick_fix_says_why_it_is_disabled(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = "import sys; sys.modules['libcst'] = None; from fx_lsp.cli.main import main; sys.exit(main())"
    monkeypatch.setattr("tests.lsp.editor.SERVER", (sys.executable, "-c", without))
    async with Editor(folder).session() as editor:
        editor.write("helper.py", HELPER)
        editor.open("model.py", MODEL)
        found = await editor.diagnostics("model.py")
        (action,) = await editor.quick_fixes("model.py", *found)
        assert action.edit is None
        assert action.disabled is not None
        assert "libcst" in action.disabled.reason


async def test_a_fix_for_an_older_version_of_the_text_is_not_offered(editor: Editor) -> None:
    editor.write("helper.py", HELPER)
    editor.open("model.py", MODEL)
    found = await editor.diagnostics("model.py")
    editor.edit("model.py", "import torch\n", "import torch\nimport math\n")
    offered = [action.title for action in await editor.quick_fixes("model.py", *found)]
    comments = ("Ignore this rule here", "Trace this class", "Skip this class")
    assert [title for title in offered if not title.startswith(comments)] == []


async def test_hover_shows_the_generated_forward(editor: Editor) -> None:
    editor.write("helper.py", HELPER)
    editor.open("model.py", MODEL.replace("x if x.sum() > 0 else -x", "x.abs()"))
    await editor.diagnostics("model.py")
    on_class = await editor.hover("model.py", "Gate")
    assert "4 nodes" in on_class
    assert "```python" in on_class
    assert "def forward(self, x):" in on_class
    on_function = await editor.hover("model.py", "normalize)")
    assert "line 14" in on_function
    assert "`len(x)`" in on_function
    assert await editor.hover("model.py", "scale(y)") == ""


async def test_the_diagnostics_of_a_helper_follow_its_edits_and_name_the_calls_that_lead_there(editor: Editor) -> None:
    editor.open("helper.py", HELPER)
    editor.open("model.py", MODEL)
    assert len(await editor.diagnostics("model.py")) == 2
    assert await editor.diagnostics("helper.py") == []

    editor.edit("model.py", "x if x.sum() > 0 else -x", "x.abs()")
    editor.edit("helper.py", "x * 2", "[v for v in x]")
    await editor.until(lambda: bool(editor.published["helper.py"].diagnostics))
    (found,) = editor.published["helper.py"].diagnostics
    assert editor.text("helper.py", found.range) == "x"
    assert "`Gate`" in found.message
    assert found.related_information is not None
    (related,) = (item for item in found.related_information if item.message.startswith("Called in"))
    assert related.location.uri == editor.uri("model.py")
    assert editor.text("model.py", related.location.range) == "scale(y)"
    assert found.code_description is not None
    assert found.code_description.href.endswith(f"/{found.code}.md")

    editor.edit("helper.py", "[v for v in x]", "x * 3")
    await editor.until(lambda: not editor.published["helper.py"].diagnostics)
    assert [editor.text("model.py", item.range) for item in await editor.diagnostics("model.py")] == ["len(x)"]


async def test_a_helper_that_is_not_open_is_watched_on_the_disk(editor: Editor) -> None:
    editor.write("helper.py", HELPER)
    editor.open("model.py", MODEL)
    await editor.diagnostics("model.py")
    await editor.until(lambda: types.WORKSPACE_DID_CHANGE_WATCHED_FILES in editor.registered)
    editor.edit("model.py", "x if x.sum() > 0 else -x", "x.abs()")
    assert len(await editor.diagnostics("model.py")) == 1

    editor.write("helper.py", "def scale(x):\n    assert x.any()\n    return x\n")
    editor.tell_of_files("helper.py")
    await editor.until(lambda: "helper.py" in editor.published)
    (found,) = editor.published["helper.py"].diagnostics
    assert (found.range.start.line, found.code) == (1, "control-flow")
    assert editor.published["helper.py"].version is None


async def test_edits_after_form_feeds_and_other_separators_apply_where_the_client_means(editor: Editor) -> None:
    separated = "\f\nimport torch.fx\n\ndef f(x):\n    a = 'a\u2028b\x0bc'; b = x.abs() / len(x)\n    return b\n\n\f"
    editor.open("model.py", separated + "torch.fx.symbolic_trace(f)\n")
    (found,) = await editor.diagnostics("model.py")
    assert editor.text("model.py", found.range) == "len(x)"
    editor.edit("model.py", "abs()", "relu()")
    editor.edit("model.py", "x.relu()", "(x + 1)")
    (found,) = await editor.diagnostics("model.py")
    assert editor.text("model.py", found.range) == "len(x)"
    editor.edit("model.py", "len(x)", "2")
    assert await editor.diagnostics("model.py") == []
    assert "truediv = add / 2" in await editor.hover("model.py", "f(x)")


async def test_creating_the_file_that_an_import_lacks_clears_the_diagnostic(editor: Editor) -> None:
    editor.open("model.py", MODEL)
    missing = [item for item in await editor.diagnostics("model.py") if item.code == "missing-package"]
    assert [editor.text("model.py", found.range) for found in missing] == ["from helper import scale"]
    editor.write("helper.py", HELPER)
    editor.tell_of_files("helper.py", how="Created")
    await editor.until(lambda: all(item.code != "missing-package" for item in editor.published["model.py"].diagnostics))


async def test_while_the_text_is_half_typed_its_diagnostics_stay(editor: Editor) -> None:
    editor.write("helper.py", HELPER)
    editor.open("model.py", MODEL)
    before = sorted(editor.text("model.py", item.range) for item in await editor.diagnostics("model.py"))
    editor.edit("model.py", "class Gate", "class Half(torch.nn.\n\n\nclass Gate")
    await editor.until(lambda: editor.published["model.py"].version is None)
    after = sorted(editor.text("model.py", item.range) for item in editor.published["model.py"].diagnostics)
    assert after == before


async def test_closing_a_file_clears_its_diagnostics_wherever_they_are(editor: Editor) -> None:
    editor.open("helper.py", "def scale(x):\n    return len(x)\n")
    editor.open("model.py", MODEL.replace("x if x.sum() > 0 else -x", "x.abs()"))
    assert await editor.diagnostics("model.py")
    await editor.until(lambda: bool(editor.published["helper.py"].diagnostics))
    editor.close("model.py")
    await editor.until(lambda: not any(params.diagnostics for params in editor.published.values()))
