"""The text of every file as the editor has it, and the edits made to it."""

from __future__ import annotations

import bisect
import errno
import io
import itertools
import stat
import tokenize
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from fx_lsp.agent.messages import Span
from fx_lsp.documents.notebooks import Notebook
from fx_lsp.documents.parse import syntax_tree
from fx_lsp.documents.positions import Change, Edit, Encoding, LineIndex, shifted, stretched
from fx_lsp.documents.source_size import is_oversize, oversize

MOST_EDITS = 2000
"""How many edits of a document are kept; a place that is older than a dropped edit counts as edited."""


@dataclass(frozen=True)
class Place:
    """``text[start:end]`` of a file at one moment. :meth:`Documents.now` finds where that text is now."""

    path: str
    start: int
    end: int
    moment: int

    def touches(self, other: Place) -> bool:
        """Whether this place overlaps or adjoins ``other``, which must be from the same moment."""
        return self.path == other.path and self.start <= other.end and other.start <= self.end


@dataclass
class Document:
    """A file that is open in the editor."""

    lines: LineIndex
    version: int
    """The client's version of the document."""
    edits: list[Edit] = field(default_factory=list)
    moments: list[int] = field(default_factory=list)
    """The moment at which each of ``edits`` was made, in ascending order."""
    forgotten: int = 0
    """The moment of the most recent edit that was dropped."""

    def apply(self, edit: Edit, text: str, moment: int) -> None:
        """Replace the text with ``text``, the result of ``edit``."""
        self.lines = LineIndex(text)
        self.edits.append(edit)
        self.moments.append(moment)
        if len(self.edits) > MOST_EDITS:
            del self.edits[0]
            self.forgotten = self.moments.pop(0)

    def edits_since(self, moment: int) -> list[Edit]:
        """The edits made after ``moment``."""
        return self.edits[bisect.bisect_right(self.moments, moment) :]


class Snapshot:
    """All texts at one moment. The sender of a request keeps a snapshot, to interpret the places in the answer."""

    def __init__(self, moment: int, open_lines: dict[str, LineIndex]) -> None:
        self.moment = moment
        self._open = open_lines
        self._disk: dict[str, LineIndex | None] = {}

    def lines_of(self, path: str) -> LineIndex | None:
        """The lines of a file; None if it cannot be read."""
        return self._open.get(path) or self._on_disk(path)

    def place(self, span: Span) -> Place | None:
        """Where ``span`` is in the text that was traced; None if its file cannot be read."""
        lines = self.lines_of(span.file)
        if lines is None:
            return None
        start = lines.offset_of_python(span.line, span.col)
        end = lines.offset_of_python(span.end_line, span.end_col)
        return Place(span.file, start, max(start, end), self.moment)

    def overlays(self) -> dict[str, str]:
        """By path, the text of each open file that differs from the file on disk."""
        return {
            path: lines.text
            for path, lines in self._open.items()
            if (disk := self._on_disk(path)) is None or disk.text != lines.text
        }

    def _on_disk(self, path: str) -> LineIndex | None:
        if path not in self._disk:
            self._disk[path] = on_disk(path)
        return self._disk[path]


class Documents:
    """The text of open files as the client has it, and of all other files as it is on disk.

    Time is counted in *moments*: every edit of an open file begins a new moment. A place keeps the moment at which it
    was found, so that `now` can later determine where its text has moved, or that the text was edited.
    """

    def __init__(self, encoding: Encoding = "utf-16") -> None:
        self.encoding: Encoding = encoding
        """The client counts characters in units of this encoding."""
        self.notebooks: dict[str, Notebook] = {}
        """The open notebooks by path; the text of a notebook consists of its code cells."""
        self._open: dict[str, Document] = {}
        self._clock = itertools.count(1)
        self._moment = 0

    def open(self, path: str, text: str, version: int) -> None:
        """Store the text of a file that the editor has opened."""
        self._open[path] = Document(LineIndex(text), version)

    def open_notebook(self, path: str, notebook: Notebook, version: int) -> None:
        """Store a notebook that the editor has opened."""
        self.notebooks[path] = notebook
        self.open(path, notebook.text, version)

    def change(self, path: str, changes: Iterable[Change], version: int) -> None:
        """Apply the editor's ``changes``, one after another, to an open file. Raises KeyError if it is not open."""
        document = self._open[path]
        for change in changes:
            self._replace(document, *change.ends(document.lines, self.encoding), change.text)
        document.version = version

    def replace(self, path: str, start: int, end: int, text: str, version: int) -> None:
        """Replace the characters from ``start`` to ``end`` in an open file with ``text``.

        Raises KeyError if the file is not open.
        """
        document = self._open[path]
        self._replace(document, start, end, text)
        document.version = version

    def close(self, path: str) -> None:
        """Drop the text of a file that the editor has closed; from now on, the text is read from disk."""
        self._open.pop(path, None)
        self.notebooks.pop(path, None)

    def is_open(self, path: str) -> bool:
        """Whether the editor has ``path`` open."""
        return path in self._open

    @property
    def paths(self) -> list[str]:
        """The open files, in the order in which they were opened."""
        return list(self._open)

    def version(self, path: str) -> int | None:
        """The client's version of an open file; None if the file is not open."""
        document = self._open.get(path)
        return document.version if document else None

    def lines(self, path: str) -> LineIndex | None:
        """The lines of a file; None if it is not open and cannot be read."""
        document = self._open.get(path)
        return document.lines if document else on_disk(path)

    def text(self, path: str) -> str | None:
        """The text of a file; None if it is not open and cannot be read."""
        lines = self.lines(path)
        return lines.text if lines else None

    def snapshot(self) -> Snapshot:
        """All texts as they are now."""
        return Snapshot(self._moment, {path: document.lines for path, document in self._open.items()})

    def now(self, place: Place) -> Place | None:
        """Where the text of ``place`` is now; None if it was edited."""
        return self._moved(place, shifted)

    def around(self, place: Place) -> Place | None:
        """Where the text of ``place`` is now, with any edits in it; None if it was deleted or replaced as a whole."""
        return self._moved(place, stretched)

    def last_edit(self, path: str) -> Edit:
        """The last edit of an open file; an empty edit at its start if there was none."""
        document = self._open.get(path)
        return document.edits[-1] if document and document.edits else Edit(0, 0, 0)

    def changed_since(self, path: str, moment: int) -> bool:
        """Whether an open file was edited after ``moment``."""
        document = self._open.get(path)
        return bool(document and document.edits_since(moment))

    def _moved(self, place: Place, move: Callable[[int, int, list[Edit]], tuple[int, int] | None]) -> Place | None:
        document = self._open.get(place.path)
        if document and place.moment < document.forgotten:
            return None
        moved = move(place.start, place.end, document.edits_since(place.moment) if document else [])
        return Place(place.path, *moved, self._moment) if moved else None

    def _replace(self, document: Document, start: int, end: int, text: str) -> None:
        old = document.lines.text
        edit = Edit.between(old[start:end], text, at=start)
        self._moment = next(self._clock)
        document.apply(edit, old[:start] + text + old[end:], self._moment)


def on_disk(path: str) -> LineIndex | None:
    """The lines of a file, decoded as Python would decode it; None if it cannot be read or is too large."""
    try:
        text = _decoded(path)
        return None if is_oversize(text) else LineIndex(text)
    except (OSError, SyntaxError, UnicodeDecodeError, LookupError):
        return None


def why_not_python(path: str) -> str:
    """Why fx-lsp cannot look for targets in the file at ``path``, phrased to follow a colon."""
    try:
        text = _decoded(path)
        if is_oversize(text):
            return oversize(text)
        syntax_tree(text)
    except SyntaxError as error:
        line = f" (line {error.lineno})" if error.lineno else ""
        return f"it is not valid Python{line}: {error.msg}"
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"it cannot be read as Python: {str(error) or type(error).__name__}"
    return "it cannot be read as Python"


def _decoded(path: str) -> str:
    """The file's text. Raises OSError; SyntaxError, UnicodeDecodeError or LookupError if its encoding is wrong."""
    if not stat.S_ISREG(Path(path).stat().st_mode):  # reading from a pipe would wait for a writer
        raise OSError(errno.EINVAL, "not a regular file")
    content = Path(path).read_bytes()
    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    return content.decode(encoding)
