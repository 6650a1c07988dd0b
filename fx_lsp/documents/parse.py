"""Python's syntax trees of texts."""

from __future__ import annotations

import ast
import functools
import warnings


@functools.lru_cache(maxsize=1)
def parsed(text: str) -> ast.Module | None:
    """The tree of a file's text, which nobody may change; None where the text is not Python (yet).

    Only the last tree is kept, since trees are large; after an edit several callers ask for the same one.
    """
    return tree_of(text)


def is_python(text: str) -> bool:
    """Whether ``text`` can be parsed."""
    return tree_of(text) is not None


def tree_of(text: str) -> ast.Module | None:
    """A new tree of ``text``; None where it is not Python."""
    try:
        return syntax_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def syntax_tree(text: str) -> ast.Module:
    """A new tree of ``text``, without warnings. Raises whatever `ast.parse` does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return ast.parse(text.removeprefix("\ufeff"))
