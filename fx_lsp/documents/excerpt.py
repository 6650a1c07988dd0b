"""The source text that a span covers."""

from __future__ import annotations

from fx_lsp.agent.messages import Span
from fx_lsp.documents.positions import LineIndex

LONGEST = 60
"""How many characters of an expression a message or a title quotes; longer expressions are cut."""


def text_at(lines: LineIndex, span: Span) -> str:
    """The text at ``span``; any part of the span beyond the end of the file is ignored."""
    start = lines.offset_of_python(span.line, span.col)
    return lines.text[start : lines.offset_of_python(span.end_line, span.end_col)]


def quoted(lines: LineIndex, span: Span) -> str:
    """The text at ``span`` on one line and `shortened`, to name the expression in a sentence."""
    return shortened(" ".join(text_at(lines, span).split()))


def shortened(text: str) -> str:
    """``text``, cut to ``LONGEST`` characters."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
