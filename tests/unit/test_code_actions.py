from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types

from fx_lsp.features.code_actions import code_actions
from fx_lsp.features.diagnostics import diagnostic
from fx_lsp.features.places import ClientPlaces
from tests.unit.fake_agent import Bench, failure_at, span_of

MODEL = """\
import torch.fx


def f(x):
    é = "😋"; return x / len(x)


torch.fx.symbolic_trace(f)
"""


@pytest_asyncio.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.analysis.close()


async def traced(bench: Bench) -> tuple[str, ClientPlaces, types.Diagnostic]:
    """A file with a failure, and the diagnostic that the client shows of it."""
    path = bench.open("model.py", MODEL)
    await bench.traced(path, failure_at(span_of(path, MODEL, "len(x)")))
    places = ClientPlaces(bench.documents)
    (finding,) = bench.analysis.findings()
    shown = diagnostic(finding, places, related=False, described=False)
    assert shown is not None
    return path, places, shown


def request(
    path: str, *shown: types.Diagnostic, only: list[types.CodeActionKind | str] | None = None
) -> types.CodeActionParams:
    identifier = types.TextDocumentIdentifier(Path(path).as_uri())
    return types.CodeActionParams(identifier, shown[0].range, types.CodeActionContext(shown, only))


@pytest.mark.parametrize("versioned", [True, False])
async def test_an_edit_is_in_the_form_that_the_client_takes(bench: Bench, versioned: bool) -> None:
    path, places, shown = await traced(bench)
    actions = await code_actions(
        bench.analysis, bench.proofs, places, request(path, shown), versioned=versioned, disabled=True
    )
    action = next(action for action in actions if action.title.startswith("Insert torch.fx.wrap"))
    assert action.edit is not None
    if versioned:
        assert action.edit.changes is None
        assert action.edit.document_changes is not None
        (change,) = action.edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        assert (change.text_document.uri, change.text_document.version) == (Path(path).as_uri(), 1)
        (edit,) = change.edits
    else:
        assert action.edit.document_changes is None
        assert action.edit.changes is not None
        (edit,) = action.edit.changes[Path(path).as_uri()]
    assert isinstance(edit, types.TextEdit)
    assert 'torch.fx.wrap("len")' in edit.new_text
    assert edit.range.start == edit.range.end


async def test_a_diagnostic_whose_range_comes_back_wrong_has_its_fixes(bench: Bench) -> None:
    path, places, shown = await traced(bench)
    start = types.Position(shown.range.start.line, shown.range.start.character + 2)
    moved = types.Diagnostic(types.Range(start, start), shown.message, code=shown.code, source=shown.source)
    asked = request(path, moved)
    assert await code_actions(bench.analysis, bench.proofs, places, asked, versioned=True, disabled=True)


async def test_a_diagnostic_that_is_not_there_has_no_fix(bench: Bench) -> None:
    path, places, shown = await traced(bench)
    others = [
        types.Diagnostic(shown.range, shown.message, code=shown.code, source="other"),
        types.Diagnostic(shown.range, shown.message, code="control-flow", source=shown.source),
        types.Diagnostic(
            types.Range(shown.range.start, shown.range.start), "another", code=shown.code, source=shown.source
        ),
    ]
    assert (
        await code_actions(bench.analysis, bench.proofs, places, request(path, *others), versioned=True, disabled=True)
        == []
    )


@pytest.mark.parametrize(
    ("only", "offered"), [(None, 2), (["quickfix"], 2), ([""], 2), (["refactor", "source.organizeImports"], 0)]
)
async def test_fixes_are_for_who_asks_for_quick_fixes(
    bench: Bench, only: list[types.CodeActionKind | str] | None, offered: int
) -> None:
    path, places, shown = await traced(bench)
    actions = await code_actions(
        bench.analysis, bench.proofs, places, request(path, shown, only=only), versioned=True, disabled=True
    )
    assert len(actions) == offered


async def test_a_text_that_was_edited_since_has_no_fix(bench: Bench) -> None:
    path, places, shown = await traced(bench)
    bench.edit(path, "torch.fx.symbolic_trace(f)\n", "torch.fx.symbolic_trace(f)\n\n")
    assert (
        await code_actions(bench.analysis, bench.proofs, places, request(path, shown), versioned=True, disabled=True)
        == []
    )


async def test_files_that_are_not_the_users_own_are_not_edited(bench: Bench) -> None:
    library = bench.file("lib/site-packages/library.py", "import torch.fx\n\ndef scale(x):\n    return len(x)\n")
    path = bench.open("model.py", MODEL)
    inside = span_of(library, Path(library).read_text(encoding="utf-8"), "len(x)")
    await bench.traced(path, failure_at(span_of(path, MODEL, "len(x)"), inside))
    places = ClientPlaces(bench.documents)
    (finding,) = bench.analysis.findings()
    shown = diagnostic(finding, places, related=False, described=False)
    assert shown is not None
    actions = await code_actions(
        bench.analysis, bench.proofs, places, request(path, shown), versioned=False, disabled=True
    )
    edited = [list(action.edit.changes or {}) for action in actions if action.edit is not None]
    assert edited == [[Path(path).as_uri()]]
