"""An editor with a notebook, whose cells are documents of their own."""

from collections.abc import Mapping, Sequence

from lsprotocol import types

from tests.lsp.editor import Editor

NOTEBOOK = "notes é.ipynb"


class NotebookEditor(Editor):
    """Its documents are the cells of one notebook, by names that a test gives them."""

    def open_notebook(self, cells: Mapping[str, str]) -> None:
        """Open the notebook with these cells."""
        self.order = list(cells)
        self._version = 1
        notebook = types.NotebookDocument(self._uri, "jupyter-notebook", 1, [self._cell(name) for name in cells])
        documents = [self._document(name, text) for name, text in cells.items()]
        self.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, documents))

    def close_notebook(self) -> None:
        """Close it, and with it its cells."""
        closed = types.DidCloseNotebookDocumentParams(
            types.NotebookDocumentIdentifier(self._uri), list(map(self._identifier, self.order))
        )
        self.client.notebook_document_did_close(closed)

    def splice(self, start: int, count: int, cells: Mapping[str, str]) -> None:
        """Put ``cells`` in the place of so many; those that are there already keep their text."""
        gone = self.order[start : start + count]
        fresh = [self._document(name, text) for name, text in cells.items() if name not in self.order]
        self.order[start : start + count] = cells
        closed = [self._identifier(name) for name in gone if name not in self.order]
        array = types.NotebookCellArrayChange(start, count, [self._cell(name) for name in cells])
        structure = types.NotebookDocumentCellChangeStructure(array, fresh, closed)
        self._change(types.NotebookDocumentCellChanges(structure=structure))

    def run_cell(self, name: str) -> None:
        """What the client tells when a cell was run: nothing of its text."""
        summary = types.ExecutionSummary(1, success=True)
        cell = types.NotebookCell(types.NotebookCellKind.Code, self.uri(name), execution_summary=summary)
        self._change(types.NotebookDocumentCellChanges(data=[cell]))

    def uri(self, name: str) -> str:
        if not name.startswith("cell "):
            return super().uri(name)
        return f"vscode-notebook-cell:{self._uri.removeprefix('file://')}#W{name.removeprefix('cell ')}sZmlsZQ%3D%3D"

    @property
    def _uri(self) -> str:
        return super().uri(NOTEBOOK)

    def _name(self, uri: str) -> str:
        return next((name for name in self._texts if self.uri(name) == uri), super()._name(uri))

    def _cell(self, name: str) -> types.NotebookCell:
        return types.NotebookCell(types.NotebookCellKind.Code, self.uri(name))

    def _document(self, name: str, text: str) -> types.TextDocumentItem:
        self._texts[name], self._versions[name] = text, 1
        return types.TextDocumentItem(self.uri(name), "python", 1, text)

    def _tell(
        self,
        identifier: types.VersionedTextDocumentIdentifier,
        changes: Sequence[types.TextDocumentContentChangeEvent],
    ) -> None:
        content = types.NotebookDocumentCellContentChanges(identifier, changes)
        self._change(types.NotebookDocumentCellChanges(text_content=[content]))

    def _change(self, cells: types.NotebookDocumentCellChanges) -> None:
        self._version += 1
        identifier = types.VersionedNotebookDocumentIdentifier(self._version, self._uri)
        change = types.NotebookDocumentChangeEvent(cells=cells)
        self.client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(identifier, change))
