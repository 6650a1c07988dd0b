"""The Python code in prose: fenced code in Markdown, examples in docstrings.

Examples are found by their prompts alone. The standard library's ``doctest`` is stricter than the docstrings that
people write: it rejects a whole docstring for one wrong indent, and splits a class that repeats ``>>>`` on every line.
"""

from __future__ import annotations

import functools
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from fx_lsp.documents.parse import is_python

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LANGUAGE = re.compile(r"\s*(\w*)")
_PYTHON = frozenset({"", "python", "py", "python3", "pycon"})
_PROMPT = re.compile(r"^(\s*)(?:>>>|\.\.\.)(?: (.*))?$")

Block = tuple[int, str]
"""A block of code: the number of its first line, from 0, and its text."""


def code_in_markdown(text: str) -> str:
    """``text`` with everything but its blocks of Python removed; each line keeps its number."""
    return _kept(text.splitlines(), _fenced(text))


def code_in_docstrings(source: str) -> str:
    """The examples in a Python file, without prompts and with all other text removed; each line keeps its number."""
    if ">>>" not in source:
        return ""
    lines = source.splitlines()
    return _kept(lines, _prompted(lines))


def _fenced(text: str) -> Iterator[Block]:
    for token in _markdown().parse(text):
        language = _LANGUAGE.match(token.info)
        if token.type == "fence" and token.map and language and language[1].lower() in _PYTHON:
            yield token.map[0] + 1, token.content.removesuffix("\n")


@functools.cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # not needed to start the server

    return MarkdownIt("commonmark").disable("inline")


def _prompted(lines: Sequence[str]) -> Iterator[Block]:
    """The examples without their prompts. Consecutive lines with prompts are one block."""
    block: list[str] = []
    for at, line in enumerate((*lines, "")):
        prompt = _PROMPT.match(line)
        if prompt is not None:
            block.append(prompt[2] or "")
        elif block:
            yield at - len(block), "\n".join(block)
            block = []


def _kept(lines: Sequence[str], blocks: Iterable[Block]) -> str:
    """A text with as many lines as ``lines``: the valid Python blocks in their places, and empty lines elsewhere."""
    kept = [""] * len(lines)
    for start, block in blocks:
        code = textwrap.dedent(block)
        if is_python(code):
            kept[start : start + code.count("\n") + 1] = code.split("\n")
    return "\n".join(kept)
