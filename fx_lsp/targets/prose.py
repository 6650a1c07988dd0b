"""The Python that a text shows: Markdown's blocks of code, the examples in docstrings."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from fx_lsp.syntax import is_python

_FENCE = re.compile(r"^\s*```\s*(\w*)")
_PYTHON = frozenset({"", "python", "py", "python3", "pycon"})
_PROMPT = re.compile(r"^(\s*)(?:>>>|\.\.\.)(?: (.*))?$")

Block = tuple[int, list[str]]
"""The number of its first line, from 0, and its lines."""


def code_in_markdown(text: str) -> str:
    """``text`` with nothing left of it but the blocks of Python, each line where it stood."""
    lines = text.splitlines()
    return _kept(len(lines), _fenced(lines))


def code_in_docstrings(source: str) -> str:
    """A Python file with nothing left of it but the examples with prompts, without these, each line where it stood."""
    if ">>>" not in source:
        return ""
    lines = source.splitlines()
    return _kept(len(lines), _prompted(lines))


def _fenced(lines: Sequence[str]) -> Iterator[Block]:
    start: int | None = None
    is_open = False
    for at, line in enumerate(lines):
        fence = _FENCE.match(line)
        if fence is None:
            continue
        if is_open and start is not None:
            yield start, list(lines[start:at])
        is_open = not is_open
        start = at + 1 if is_open and fence[1].lower() in _PYTHON else None


def _prompted(lines: Sequence[str]) -> Iterator[Block]:
    """Examples that follow each other without a gap are one."""
    block: list[str] = []
    for at, line in enumerate((*lines, "")):
        prompt = _PROMPT.match(line)
        if prompt is not None:
            block.append(prompt[2] or "")
        elif block:
            yield at - len(block), block
            block = []


def _kept(count: int, blocks: Iterator[Block]) -> str:
    """``count`` lines, those of the blocks that are Python among empty ones."""
    kept = [""] * count
    for start, lines in blocks:
        code = textwrap.dedent("\n".join(lines))
        if is_python(code):
            kept[start : start + len(lines)] = code.split("\n")
    return "\n".join(kept)
