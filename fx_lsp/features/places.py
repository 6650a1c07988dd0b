"""Between our places and the client's: paths and URIs, offsets and positions."""

from __future__ import annotations

import os

from lsprotocol import types
from pygls import uris

from fx_lsp.agent.messages import Span
from fx_lsp.documents import Change, Documents, Place
from fx_lsp.positions import LineIndex, Position


class ClientPlaces:
    """Converts with the texts and the units that ``documents`` knows."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._uris: dict[str, str] = {}
        """Path -> the client's own spelling of its URI, which may escape other characters than ours."""

    def path(self, uri: str) -> str | None:
        """The absolute path of a ``file:`` URI; None for any other."""
        path = uris.to_fs_path(uri)
        if not path:
            return None
        path = os.path.normpath(path)
        self._uris[path] = uri
        return path

    def uri(self, path: str) -> str:
        """The URI of a path, as the client spells it where it has named it."""
        return self._uris.get(path) or str(uris.from_fs_path(path))

    def range(self, place: Place) -> types.Range | None:
        """Where the text of ``place`` is now; None once it was edited, or its file can't be read."""
        now = self._documents.now(place)
        lines = self._documents.lines(place.path)
        return self._range(lines, now.start, now.end) if now and lines else None

    def location(self, place: Place) -> types.Location | None:
        """The same with the file."""
        found = self.range(place)
        return types.Location(self.uri(place.path), found) if found else None

    def range_of_span(self, span: Span) -> types.Range | None:
        """``span`` in the text as it is now; None when the file can't be read."""
        lines = self._documents.lines(span.file)
        if lines is None:
            return None
        start = lines.offset_of_python(span.line, span.col)
        return self._range(lines, start, lines.offset_of_python(span.end_line, span.end_col))

    def offset(self, path: str, position: types.Position) -> int | None:
        """The offset of a client's position; None when the file can't be read."""
        lines = self._documents.lines(path)
        return lines.offset_of_client(_ours(position), self._documents.encoding) if lines else None

    def change(self, change: types.TextDocumentContentChangeEvent) -> Change:
        """A client's edit of a document."""
        if isinstance(change, types.TextDocumentContentChangePartial):
            return Change(change.text, _ours(change.range.start), _ours(change.range.end))
        return Change(change.text)

    def _range(self, lines: LineIndex, start: int, end: int) -> types.Range:
        first, last = (lines.position(offset, self._documents.encoding) for offset in (start, end))
        return types.Range(types.Position(*first), types.Position(*last))


def _ours(position: types.Position) -> Position:
    return Position(position.line, position.character)
