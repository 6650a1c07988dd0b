"""How large a file may be for the server to read it: while it parses one, it answers nothing."""

LARGEST = 2_000_000
"""Characters. To parse as many takes Python a second or two."""


def is_oversize(text: str) -> bool:
    """Whether ``text`` is left unread."""
    return len(text) > LARGEST


def oversize(text: str) -> str:
    """Why ``text`` is not traced, in words, to follow a colon."""
    return f"it has {len(text):,} characters, and a file of more than {LARGEST:,} is not read"
