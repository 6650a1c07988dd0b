"""Parsing Python source to syntax trees."""

from __future__ import annotations

import ast
import functools
import warnings


@functools.lru_cache(maxsize=1)
def parsed(text: str) -> ast.Module | None:
    """The syntax tree of a file's text, which callers must not change; None if the text is not valid Python (yet).

    Only the last tree is cached, because trees are large; after an edit, several callers need the same tree.
    """
    return tree_of(text)


def is_python(text: str) -> bool:
    """Whether ``text`` can be parsed."""
    return tree_of(text) is not None


def tree_of(text: str) -> ast.Module | None:
    """A new syntax tree of ``text``; None if it is not valid Python."""
    try:
        return syntax_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def syntax_tree(text: str) -> ast.Module:
    """A new syntax tree of ``text``; syntax warnings are suppressed. Raises whatever `ast.parse` raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return ast.parse(text.removeprefix("\ufeff"))
