"""Notebook synchronization: applies what the client sends about notebooks and their cells."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from fx_lsp.documents.notebooks import Cell, Notebook
from fx_lsp.documents.positions import Encoding
from fx_lsp.server.features.client_places import change_of

SYNC = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithCells(cells=[types.NotebookCellLanguage("python")])], save=True
)
"""Tells the client to synchronize notebooks that have Python cells."""


def opened(params: types.DidOpenNotebookDocumentParams) -> Notebook:
    """The notebook that the client has opened."""
    notebook = Notebook()
    notebook.order = _uris(params.notebook_document.cells)
    _put(notebook, params.cell_text_documents)
    notebook.lay_out()
    return notebook


def take(notebook: Notebook, change: types.NotebookDocumentCellChanges, encoding: Encoding) -> None:
    """Apply a client's change to ``notebook``. The change takes effect when the notebook is laid out."""
    if structure := change.structure:
        _put(notebook, structure.did_open or ())
        array = structure.array
        notebook.order[array.start : array.start + array.delete_count] = _uris(array.cells or ())
        for closed in structure.did_close or ():
            notebook.texts.pop(closed.uri, None)
    for content in change.text_content or ():
        uri, version = content.document.uri, content.document.version
        if cell := notebook.texts.get(uri):
            notebook.texts[uri] = cell.changed(map(change_of, content.changes), version, encoding)


def _uris(cells: Iterable[types.NotebookCell]) -> list[str]:
    return [cell.document for cell in cells]


def _put(notebook: Notebook, documents: Iterable[types.TextDocumentItem]) -> None:
    for item in documents:
        notebook.texts[item.uri] = Cell.of(item.uri, item.language_id, item.version, item.text)
