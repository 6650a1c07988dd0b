"""The source text that a span covers, as a person reads it in a message."""

from __future__ import annotations

import io

from fx_lsp.agent.messages import Span

LONGEST = 60
"""Characters of an expression that a message quotes; what is longer is cut."""


def lines_of(source: str) -> list[str]:
    r"""The lines as Python counts them, each with its end: only ``\n``, ``\r\n`` and ``\r`` end one."""
    return io.StringIO(source, newline="").readlines()


def text_at(source: str, span: Span) -> str:
    """What ``source`` has at ``span``; ``""`` where the span lies outside of it."""
    lines = lines_of(source)[span.line - 1 : span.end_line]
    if len(lines) != span.end_line - span.line + 1 or not lines:
        return ""
    encoded = [line.encode() for line in lines]
    encoded[-1] = encoded[-1][: span.end_col]
    encoded[0] = encoded[0][span.col :]
    return b"".join(encoded).decode(errors="replace")


def quoted(source: str, span: Span) -> str:
    """The same on one line and cut to ``LONGEST`` characters, for a sentence that names the expression."""
    text = " ".join(text_at(source, span).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
