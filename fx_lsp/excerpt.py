"""The source text that a span covers."""

from __future__ import annotations

import io
from collections.abc import Sequence

from fx_lsp.agent.messages import Span

LONGEST = 60
"""Characters of an expression that a message quotes; what is longer is cut."""


def lines_of(source: str) -> list[str]:
    r"""The lines as Python counts them, each with its end: only ``\n``, ``\r\n`` and ``\r`` end one."""
    return io.StringIO(source, newline="").readlines()


def text_at(lines: Sequence[str], span: Span) -> str:
    """What stands at ``span`` in a file of these ``lines``; ``""`` where the span lies outside of it."""
    covered = [line.encode() for line in lines[span.line - 1 : span.end_line]]
    if not covered or len(covered) != span.end_line - span.line + 1:
        return ""
    covered[-1] = covered[-1][: span.end_col]
    covered[0] = covered[0][span.col :]
    return b"".join(covered).decode(errors="replace")


def quoted(source: str, span: Span) -> str:
    """The same on one line and cut to ``LONGEST`` characters, for a sentence that names the expression."""
    text = " ".join(text_at(lines_of(source), span).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
