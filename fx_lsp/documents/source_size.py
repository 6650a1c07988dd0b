"""The size limit for files that the server parses: while it is parsing, it can't answer requests."""

LARGEST = 2_000_000
"""In characters. Python takes a second or two to parse a file of this size."""


def is_oversize(text: str) -> bool:
    """Whether ``text`` is too large to be parsed."""
    return len(text) > LARGEST


def oversize(text: str) -> str:
    """Why ``text`` is not traced, phrased to follow a colon."""
    return f"it has {len(text):,} characters, and fx-lsp reads only files of up to {LARGEST:,}"
