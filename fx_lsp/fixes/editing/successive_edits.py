"""Several edits of a file, each of the text that the one before leaves, as changes of the first text."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from fx_lsp.agent.messages import Span
from fx_lsp.documents.positions import LineIndex
from fx_lsp.fixes.editing import TextChange
from fx_lsp.fixes.editing.text_edits import replacements


class EditedText:
    """The text of a file after any number of edits, with the place that each of its characters had at first."""

    def __init__(self, path: str, lines: LineIndex) -> None:
        self.path = path
        self._first = lines
        self._characters: list[tuple[str, int | None]] = [(char, at) for at, char in enumerate(lines.text)]
        """Each with its offset in the first text; None for one that an edit has added."""

    @property
    def text(self) -> str:
        """The text after all edits."""
        return "".join(char for char, _ in self._characters)

    def after(self, changes: Iterable[TextChange]) -> EditedText:
        """This text after one more edit: those of ``changes`` that are in this file."""
        edited = EditedText(self.path, self._first)
        edited._characters = self._characters.copy()
        own = [change for change in changes if change.span.file == self.path]
        for start, end, new in replacements(own, LineIndex(self.text)):
            edited._characters[start:end] = [(char, None) for char in new]
        return edited

    @property
    def changes(self) -> tuple[TextChange, ...]:
        """The changes of the first text that all edits together come to."""
        found, end = [], 0
        runs = groupby([*self._characters, ("", len(self._first.text))], key=lambda character: character[1] is None)
        added = ""
        for is_added, run in runs:
            if is_added:
                added = "".join(char for char, _ in run)
                continue
            for _, at in run:
                assert at is not None
                if added or at != end:
                    found.append(TextChange(self._span(end, at), added))
                added, end = "", at + 1
        return tuple(found)

    def first_place(self, span: Span) -> Span:
        """Where what is at ``span`` of this text was at first; for what an edit has added, what that edit replaced."""
        lines = LineIndex(self.text)
        start = lines.offset_of_python(span.line, span.col)
        end = lines.offset_of_python(span.end_line, span.end_col)
        origins = [at for _, at in self._characters]
        before = [at for at in origins[:start] if at is not None]
        behind = [at for at in origins[end:] if at is not None]
        first, last = (next(iter(at), None) for at in (origins[start:end], origins[start:end][::-1]))
        if first is None:
            first = before[-1] + 1 if before else 0
        last = last + 1 if last is not None else behind[0] if behind else len(origins)
        return self._span(first, last)

    def _span(self, start: int, end: int) -> Span:
        (line, col), (end_line, end_col) = (self._first.position(at, "utf-8") for at in (start, end))
        return Span(self.path, line + 1, col, end_line + 1, end_col)
