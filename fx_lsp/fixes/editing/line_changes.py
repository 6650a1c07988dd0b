"""Finds the smallest changes of whole lines that turn a file's old text into its new text."""

from __future__ import annotations

import difflib
import io
from collections.abc import Iterable

from fx_lsp.agent.messages import Span
from fx_lsp.fixes.editing import TextChange


def changes_between(file: str, old: str, new: str) -> tuple[TextChange, ...]:
    """The changes of whole lines that turn ``old`` into ``new``."""
    before, after = _lines(old), _lines(new)
    head = _common(before, after)
    tail = _common(reversed(before[head:]), reversed(after[head:]))
    before, after = before[head : len(before) - tail], after[head : len(after) - tail]
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return tuple(
        TextChange(Span(file, head + start + 1, 0, head + end + 1, 0), "".join(after[new_start:new_end]))
        for kind, start, end, new_start, new_end in matcher.get_opcodes()
        if kind != "equal"
    )


def _lines(text: str) -> list[str]:
    return io.StringIO(text, newline="").readlines()


def _common(one: Iterable[str], other: Iterable[str]) -> int:
    """The number of lines at the beginning that are the same in both."""
    count = 0
    for line, counterpart in zip(one, other, strict=False):
        if line != counterpart:
            break
        count += 1
    return count
