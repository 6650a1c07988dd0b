"""Small programs as text, made into functions whose source is known by file and line."""

from __future__ import annotations

import itertools
import linecache
import textwrap
from collections.abc import Callable
from typing import Any

import torch

from fxcore.source import SourceSpan
from tests.core.versions import COLUMNS

_numbers = itertools.count()


def define(source: str, name: str = "f") -> Callable[..., Any]:
    """What a program of its own, ``source``, calls ``name``; it has `torch` and `math` at hand."""
    text = textwrap.dedent(source).lstrip("\n")
    filename = f"/snippets/{next(_numbers)} é.py"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"torch": torch, "__name__": "snippet"}
    exec("import math", namespace)
    exec(compile(text, filename, "exec", dont_inherit=True), namespace)
    return namespace[name]  # type: ignore[no-any-return]


def text_of(span: SourceSpan | None) -> str | None:
    """The source text of a span, lines joined by a newline."""
    if span is None:
        return None
    lines = [line.encode() for line in linecache.getlines(span.file)[span.line - 1 : span.end_line]]
    lines[-1] = lines[-1][: span.end_col]
    lines[0] = lines[0][span.col :]
    return b"".join(lines).decode()


def unmarked(source: str) -> str:
    """A program without the marks « and »."""
    return source.replace("«", "").replace("»", "")


def stands_at(span: SourceSpan | None, source: str) -> bool:
    """Whether a span of a program is what has the marks in ``source``; on Python 3.10, whether its lines include it."""
    if span is None:
        return False
    if COLUMNS:
        return marked(span) == source
    first, last = (source[: source.index(mark)].count("\n") + 1 for mark in "«»")
    return span.line <= first and last <= span.end_line


def marked(span: SourceSpan) -> str:
    """The text of a span's file, with the span in « and »."""
    lines = [line.encode() for line in linecache.getlines(span.file)]
    for line, column, mark in ((span.end_line, span.end_col, "»"), (span.line, span.col, "«")):
        text = lines[line - 1]
        lines[line - 1] = text[:column] + mark.encode() + text[column:]
    return b"".join(lines).decode()
