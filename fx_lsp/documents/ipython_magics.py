"""IPython's additions to Python: magics (``%``, ``%%``), shell commands (``!``) and help (``?``)."""

from __future__ import annotations

import re

_RUNNING_PYTHON = frozenset({"capture", "prun", "time", "timeit"})
"""Cell magics that run the rest of the cell as Python."""

_CELL_MAGIC = re.compile(r"\s*%%(?P<name>\w+)")
_LINE = re.compile(r"(?P<indent>[ \t]*)(?P<magic>(?:[%!?]|[\w.*]+\?\??[ \t;]*(?:$|\n)).*)")
_ASSIGNED = re.compile(r"[ \t]*[\w.,\[\] \t]+=[ \t]*(?P<magic>[%!].+)")

_PHYSICAL_LINE = re.compile(r"(?:\\\r?\n|[^\n])*\n?")
"""A line, together with the lines that backslashes join to it."""

_TOKEN = re.compile(
    r"""
    (?P<string> \"""[\s\S]*?(?:(?<!\\)\"""|\Z) | '''[\s\S]*?(?:(?<!\\)'''|\Z)
              | "(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'? )
    | (?P<comment> \#[^\n]* ) | (?P<open> [(\[{] ) | (?P<close> [)\]}] ) | (?P<joined> \\\r?\n ) | (?P<end> \n )
    """,
    re.VERBOSE,
)


def blanked(text: str) -> str:
    """A cell's text with everything that is not Python replaced by blanks; its length stays the same.

    The result of a magic or a shell command that is assigned to a name is replaced by an empty list. A magic in an
    indented block becomes ``0``, so that the block is not empty.
    """
    if not any(mark in text for mark in "%!?"):
        return text
    found = _CELL_MAGIC.match(text)
    if found and found["name"] not in _RUNNING_PYTHON:
        return _blank(text)
    start = found.end() + len(text[found.end() :].partition("\n")[0]) if found else 0
    pieces = [_blank(text[:start])]
    while start < len(text):
        end = _end_of_line(text, start)
        pieces.append(_without_magic(text[start:end]))
        start = end
    return "".join(pieces)


def _end_of_line(text: str, start: int) -> int:
    """The end of the logical line that begins at ``start`` or, if it is not Python, the end of the physical line."""
    if _LINE.match(text, start) or _ASSIGNED.match(text, start):
        found = _PHYSICAL_LINE.match(text, start)
        return found.end() if found else len(text)
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += (token.lastgroup == "open") - (token.lastgroup == "close" and depth > 0)
        if token.lastgroup == "end" and depth == 0:
            return token.end()
    return len(text)


def _without_magic(line: str) -> str:
    if found := _LINE.match(line):
        rest = _blank(line[found.end("indent") :])
        return found["indent"] + (f"0{rest[1:]}" if found["indent"] else rest)
    if found := _ASSIGNED.match(line):
        start = found.start("magic")
        return f"{line[:start]}[]{_blank(line[start + 2 :])}"
    return line


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)
