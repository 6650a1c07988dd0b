"""The source text that a span covers."""

from __future__ import annotations

from fx_lsp.agent.messages import Span
from fx_lsp.positions import LineIndex

LONGEST = 60
"""Characters of an expression that a message quotes; what is longer is cut."""


def text_at(lines: LineIndex, span: Span) -> str:
    """What stands at ``span``; where it reaches out of the text, as much of it as there is."""
    start = lines.offset_of_python(span.line, span.col)
    return lines.text[start : lines.offset_of_python(span.end_line, span.end_col)]


def quoted(lines: LineIndex, span: Span) -> str:
    """The same on one line and cut to ``LONGEST`` characters, for a sentence that names the expression."""
    text = " ".join(text_at(lines, span).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
