"""Texts as Python's syntax trees."""

from __future__ import annotations

import ast
import functools
import warnings


@functools.lru_cache(maxsize=1)
def parsed(text: str) -> ast.Module | None:
    """The tree of a file's text, for reading only; None where it is not Python (yet).

    That of the last text is kept: after an edit several ask for the same one. Trees are large.
    """
    return tree_of(text)


def is_python(text: str) -> bool:
    """Whether it can be parsed."""
    return tree_of(text) is not None


def tree_of(text: str) -> ast.Module | None:
    """A tree of one's own; None where the text is not Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
