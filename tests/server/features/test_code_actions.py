from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types

from fx_lsp.agent.messages import Report
from fx_lsp.server.features.client_places import ClientPlaces
from fx_lsp.server.features.code_actions import Takes, code_actions
from fx_lsp.server.features.diagnostics import identity
from tests.analysis.fake_agent import Bench, failure_at, shown_of, span_of

MODEL = """\
import torch.fx


def f(x):
    é = "😋"; return x / len(x)


torch.fx.symbolic_trace(f)
"""


CLASS = """\
from torch import nn


@register
class Net(nn.Module):
    def __init__(self, width, *, depth):
        super().__init__()

    def forward(self, x):
        return x
"""


@pytest_asyncio.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.scheduler.close()


def edits_of(edit: types.WorkspaceEdit) -> list[types.TextEdit]:
    return [item for edits in (edit.changes or {}).values() for item in edits if isinstance(item, types.TextEdit)]


async def traced(bench: Bench) -> tuple[str, ClientPlaces, types.Diagnostic]:
    """A file with a failure, and the diagnostic that the client shows of it."""
    path = bench.open("model.py", MODEL)
    await bench.traced(path, failure_at(span_of(path, MODEL, "len(x)")))
    places = ClientPlaces(bench.documents)
    (finding,) = bench.scheduler.results.findings()
    shown = shown_of(finding, places)
    return path, places, shown


def request(
    path: str, *shown: types.Diagnostic, only: list[types.CodeActionKind | str] | None = None
) -> types.CodeActionParams:
    identifier = types.TextDocumentIdentifier(Path(path).as_uri())
    return types.CodeActionParams(identifier, shown[0].range, types.CodeActionContext(shown, only))


async def offered(
    bench: Bench, places: ClientPlaces, params: types.CodeActionParams, *, versions: bool = True
) -> list[types.CodeAction]:
    return await code_actions(bench.scheduler, bench.proofs, places, params, Takes(versions=versions, disabled=True))


@pytest.mark.parametrize("versioned", [True, False])
async def test_an_edit_is_in_the_form_that_the_client_takes(bench: Bench, versioned: bool) -> None:
    path, places, shown = await traced(bench)
    actions = await offered(bench, places, request(path, shown), versions=versioned)
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
    assert await offered(bench, places, asked)


async def test_a_diagnostic_that_is_not_there_has_no_fix(bench: Bench) -> None:
    path, places, shown = await traced(bench)
    others = [
        types.Diagnostic(shown.range, shown.message, code=shown.code, source="other"),
        types.Diagnostic(shown.range, shown.message, code="control-flow", source=shown.source),
        types.Diagnostic(
            types.Range(shown.range.start, shown.range.start), "another", code=shown.code, source=shown.source
        ),
    ]
    assert await offered(bench, places, request(path, *others, only=["quickfix"])) == []


@pytest.mark.parametrize(
    ("only", "kinds"),
    [
        (None, {"quickfix": 3, "refactor.extract": 1}),
        ([""], {"quickfix": 3, "refactor.extract": 1}),
        (["quickfix"], {"quickfix": 3}),
        (["refactor", "source.organizeImports"], {"refactor.extract": 1}),
        (["refactor.extract.function"], {}),
    ],
)
async def test_a_client_is_offered_the_kinds_that_it_asks_for(
    bench: Bench, only: list[types.CodeActionKind | str] | None, kinds: dict[str, int]
) -> None:
    path, places, shown = await traced(bench)
    actions = await offered(bench, places, request(path, shown, only=only))
    assert Counter(action.kind for action in actions) == kinds


async def test_a_diagnostic_that_comes_back_with_its_name_is_known_wherever_it_is_shown(bench: Bench) -> None:
    path, places, shown = await traced(bench)
    moved = types.Diagnostic(types.Range(types.Position(0, 0), types.Position(0, 0)), "other text", code=shown.code)
    moved.source, moved.data = shown.source, {"finding": identity(next(bench.scheduler.results.findings()))}
    assert await offered(bench, places, request(path, moved))
    moved.data = {"finding": "another"}
    assert not await offered(bench, places, request(path, moved))


async def test_in_a_text_that_was_edited_since_a_rule_can_only_be_ignored(bench: Bench) -> None:
    path, places, shown = await traced(bench)
    bench.edit(path, "torch.fx.symbolic_trace(f)\n", "torch.fx.symbolic_trace(f)\n\n")
    (action,) = await offered(bench, places, request(path, shown, only=["quickfix"]))
    assert action.title == "Ignore this rule here: len"
    assert action.diagnostics == [shown]


async def test_a_class_can_be_traced_with_what_it_was_built_with_and_skipped(bench: Bench) -> None:
    path = bench.open("model.py", CLASS)
    request_ = await bench.agent.asked()
    (target,) = request_.targets
    request_.answers.put_nowait(Report(1, target.key, "traced", recipe="Net(16, depth=2)"))
    request_.done()
    await bench.complete(path)
    places = ClientPlaces(bench.documents)

    async def at(line: int) -> dict[str, str]:
        here = types.Range(types.Position(line, 2), types.Position(line, 2))
        identifier = types.TextDocumentIdentifier(Path(path).as_uri())
        params = types.CodeActionParams(identifier, here, types.CodeActionContext([]))
        actions = await offered(bench, places, params, versions=False)
        assert all(action.kind == "refactor.rewrite" and action.diagnostics is None for action in actions)
        changes = [(action.title, edit) for action in actions if action.edit for edit in edits_of(action.edit)]
        assert all(edit.range.start == edit.range.end == types.Position(3, 0) for _, edit in changes)
        return {title: edit.new_text for title, edit in changes}

    written = {"Trace this class with…": "# fx: trace(16, depth=2)\n", "Skip this class": "# fx: skip\n"}
    lines = {line: await at(line) for line in range(CLASS.count("\n"))}
    assert {line for line, found in lines.items() if found} == {3, 4, 8}, "the decorator, the class, its forward"
    assert all(lines[line] == written for line in (3, 4, 8))


async def test_files_that_are_not_the_users_own_are_not_edited(bench: Bench) -> None:
    library = bench.file("lib/site-packages/library.py", "import torch.fx\n\ndef scale(x):\n    return len(x)\n")
    path = bench.open("model.py", MODEL)
    inside = span_of(library, Path(library).read_text(encoding="utf-8"), "len(x)")
    await bench.traced(path, failure_at(span_of(path, MODEL, "len(x)"), inside))
    places = ClientPlaces(bench.documents)
    (finding,) = bench.scheduler.results.findings()
    shown = shown_of(finding, places)
    actions = await offered(bench, places, request(path, shown, only=["quickfix"]), versions=False)
    edited = [list(action.edit.changes or {}) for action in actions if action.edit is not None]
    assert edited == [[Path(path).as_uri()]] * 2
