"""What a session keeps of its client: the Pythons that are selected there, and what was published to it."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from lsprotocol import types

from fx_lsp.settings.settings import Settings
from tests.server.sessions import session_of

MISTAKE = "[tool.fx-lsp]\nnope = 1\n"


@pytest.fixture(autouse=True)
def _no_active_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)


async def test_a_folder_without_a_selection_does_not_get_that_of_another(tmp_path: Path) -> None:
    a, b, c = (tmp_path / name for name in "abc")
    session = session_of(types.ClientCapabilities(), {"interpreter": ["/of/a/python"]}, [a, b, c])

    def chosen(*folders: Path) -> Sequence[bool]:
        """Whether the Python of each folder is selected in the editor."""
        interpreters = [session.engine.interpreter_of(str(folder / "net.py")) for folder in folders]
        return [interpreter.origin == "the editor's choice" for interpreter in interpreters]

    session.select_interpreter(str(a), ["/of/a/python"])
    session.select_interpreter(str(b), [])
    assert chosen(a, b, c) == [True, False, True], "nothing is said of c"
    session.select_interpreter(str(a), None)
    assert chosen(a, b, c) == [False, False, True]
    session.select_interpreter(str(b), ["/of/b/python"])
    session.select_interpreter(None, None)
    assert chosen(a, b, c) == [False, True, False]
    await session.close()


@pytest.mark.parametrize("how", ["the document is closed", "its folder is removed"])
async def test_mistakes_in_a_project_are_withdrawn_with_its_last_document(tmp_path: Path, how: str) -> None:
    published: list[types.PublishDiagnosticsParams] = []
    session = session_of(types.ClientCapabilities(), {}, [tmp_path], published.append)
    (tmp_path / "pyproject.toml").write_text(MISTAKE)
    path = str(tmp_path / "net.py")
    session.opened(path, "", 1)
    assert [len(params.diagnostics) for params in published] == [1]
    if how == "the document is closed":
        session.closed(path)
    else:
        (tmp_path / "pyproject.toml").unlink()
        session.set_folders([])
    assert [len(params.diagnostics) for params in published] == [1, 0]
    await session.close()


async def test_nothing_is_published_to_a_client_that_pulls_diagnostics(tmp_path: Path) -> None:
    published: list[types.PublishDiagnosticsParams] = []
    pulls = types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
    session = session_of(types.ClientCapabilities(text_document=pulls), {}, [tmp_path], published.append)
    cell = types.TextDocumentItem("vscode-notebook-cell:/a.ipynb#1", "python", 1, "# fx: nonsense")
    cells = [types.NotebookCell(types.NotebookCellKind.Code, cell.uri)]
    notebook = types.NotebookDocument((tmp_path / "a.ipynb").as_uri(), "jupyter-notebook", 1, cells)
    session.configure(Settings(trace="manual"), {})
    session.notebook_opened(types.DidOpenNotebookDocumentParams(notebook, [cell]))
    nothing = types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges())
    identifier = types.VersionedNotebookDocumentIdentifier(2, notebook.uri)
    session.notebook_changed(types.DidChangeNotebookDocumentParams(identifier, nothing))
    assert [item.code for item in session.publisher.current(cell.uri)] == ["directive"]
    assert published == []
    await session.close()
