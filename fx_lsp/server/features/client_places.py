"""Converts between fx-lsp's places and the client's: paths and URIs, offsets and positions."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable

from lsprotocol import types
from pygls import uris

from fx_lsp.agent.messages import Span
from fx_lsp.documents.documents import Documents, Place
from fx_lsp.documents.notebooks import Splice
from fx_lsp.documents.positions import Change, LineIndex, Position
from fx_lsp.fixes import TextChange


class ClientPlaces:
    """Converts places to and from the client's positions, using the texts and the encoding of ``documents``.

    To the client, a file is one document; a notebook is a document for each of its cells.
    """

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._uris: dict[str, str] = {}
        """Path -> its URI as the client spells it: the client and pygls may escape different characters."""

    def path(self, uri: str) -> str | None:
        """The absolute path of a ``file:`` URI, or of the notebook that contains the cell ``uri``; None otherwise."""
        path = path_of(uri)
        if path is None:
            return next((path for path, notebook in self._documents.notebooks.items() if notebook.cell(uri)), None)
        self._uris[path] = uri
        return path

    def uri(self, path: str) -> str:
        """The URI of a path, spelled as by the client if the client has sent it."""
        return self._uris.get(path) or str(uris.from_fs_path(path))

    def uris(self, path: str) -> list[str]:
        """The URIs of the documents that make up a file."""
        notebook = self._documents.notebooks.get(path)
        return [cell.uri for cell in notebook.cells] if notebook else [self.uri(path)]

    def version(self, uri: str) -> int | None:
        """The client's version of a document; None if it is not open."""
        path = self.path(uri)
        if path is None:
            return None
        if notebook := self._documents.notebooks.get(path):
            cell = notebook.cell(uri)
            return cell.version if cell else None
        return self._documents.version(path)

    def location(self, place: Place) -> types.Location | None:
        """Where the text of ``place`` is now; None if it was edited, or its file can't be read."""
        now = self._documents.now(place)
        return self.here(now.path, now.start, now.end) if now else None

    def location_of_span(self, span: Span) -> types.Location | None:
        """The location of ``span`` in the current text; None if the file can't be read."""
        ends = self._ends(span)
        return self.here(span.file, *ends) if ends else None

    def here(self, path: str, start: int, end: int) -> types.Location | None:
        """The location of ``text[start:end]`` in the current text of ``path``; None if the file can't be read."""
        if notebook := self._documents.notebooks.get(path):
            found = notebook.within(start, end)
            return types.Location(found[0].uri, self._range(found[0].lines, *found[1:])) if found else None
        lines = self._documents.lines(path)
        return types.Location(self.uri(path), self._range(lines, start, end)) if lines else None

    def offset(self, uri: str, position: types.Position) -> int | None:
        """The offset, in the text of the file, of a position in a document; None if the file can't be read."""
        path = self.path(uri)
        notebook = self._documents.notebooks.get(path) if path else None
        cell = notebook.cell(uri) if notebook else None
        lines = cell.lines if cell else self._documents.lines(path) if path and not notebook else None
        if lines is None:
            return None
        return (cell.start if cell else 0) + lines.offset_of_client(_ours(position), self._documents.encoding)

    def edits(self, changes: Iterable[TextChange]) -> dict[str, list[types.TextEdit]] | None:
        """The edits that make ``changes``, by document; None if one of the changes can't be made."""
        found: dict[str, list[types.TextEdit]] = defaultdict(list)
        for change in changes:
            ends = self._ends(change.span)
            edit = self._edit(change.span.file, Splice(*ends, change.text)) if ends else None
            if edit is None:
                return None
            found[edit[0].uri].append(types.TextEdit(edit[0].range, edit[1]))
        return found

    def _edit(self, path: str, splice: Splice) -> tuple[types.Location, str] | None:
        if notebook := self._documents.notebooks.get(path):
            found = notebook.edit(splice)
            if found is None:
                return None
            cell, within = found
            return types.Location(cell.uri, self._range(cell.lines, within.start, within.end)), within.text
        location = self.here(path, splice.start, splice.end)
        return (location, splice.text) if location else None

    def _ends(self, span: Span) -> tuple[int, int] | None:
        """The offsets of ``span`` in the current text; None if the file can't be read."""
        lines = self._documents.lines(span.file)
        if lines is None:
            return None
        return lines.offset_of_python(span.line, span.col), lines.offset_of_python(span.end_line, span.end_col)

    def _range(self, lines: LineIndex, start: int, end: int) -> types.Range:
        first, last = (lines.position(offset, self._documents.encoding) for offset in (start, end))
        return types.Range(types.Position(*first), types.Position(*last))


def path_of(uri: str) -> str | None:
    """The absolute path of a ``file:`` URI; None for other URIs."""
    path = uris.to_fs_path(uri)
    return os.path.normpath(path) if path else None


def change_of(change: types.TextDocumentContentChangeEvent) -> Change:
    """A client's edit of a document, converted to a `Change`."""
    if isinstance(change, types.TextDocumentContentChangePartial):
        return Change(change.text, _ours(change.range.start), _ours(change.range.end))
    return Change(change.text)


def _ours(position: types.Position) -> Position:
    return Position(position.line, position.character)
