"""Where a file defines its classes and functions, even while its text can't be parsed."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fx_lsp.documents.documents import Documents, Place
from fx_lsp.documents.parse import parsed
from fx_lsp.documents.positions import LineIndex

_HEAD = re.compile(r"(?:async[\s\\]+)?(?:class|def)[\s\\]+[^\s(:\[\\#]+")
"""A definition up to its name, which ends where something else begins: ``\\w`` would leave out some parts of names."""


@dataclass(frozen=True)
class Definition:
    """A class or a function."""

    name: str
    """Qualified, e.g. ``Net.forward``; normalized as Python does it."""
    start: int
    """The offset of its ``class`` or ``def``."""
    end: int
    """The offset after its name."""
    whole: tuple[int, int]
    """The offsets of the whole definition, from the start of its first line, which may be a decorator, to its end."""


@functools.lru_cache(maxsize=64)
def definitions_of(text: str) -> tuple[Definition, ...] | None:
    """The definitions in a file's text, in order; None if the text is not valid Python."""
    tree = parsed(text)
    return None if tree is None else tuple(_within(tree, "", LineIndex(text)))


def _within(parent: ast.AST, prefix: str, lines: LineIndex) -> Iterator[Definition]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            start = lines.offset_of_python(node.lineno, node.col_offset)
            # The tree has names in a normalized form, which may differ from the text.
            head = _HEAD.match(lines.text, start)
            yield Definition(f"{prefix}{node.name}", start, head.end() if head else start, _whole(node, lines))
            yield from _within(node, f"{prefix}{node.name}.", lines)
        elif isinstance(node, ast.stmt):
            yield from _within(node, prefix, lines)


def _whole(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, lines: LineIndex) -> tuple[int, int]:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    end = lines.offset_of_python(node.end_lineno or node.lineno, node.end_col_offset or 0)
    return lines.offset_of_python(first, 0), end


class Outlines:
    """The definitions in open files. While a file can't be parsed, those of its last valid version are kept."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._places: dict[str, dict[str, Place]] = {}

    def of(self, path: str) -> Mapping[str, Place]:
        """By qualified name, the current place of each definition's head: from its ``class`` or ``def`` to its name."""
        text = self._documents.text(path)
        found = definitions_of(text) if text is not None else ()
        if found is not None:
            moment = self._documents.snapshot().moment
            self._places[path] = {item.name: Place(path, item.start, item.end, moment) for item in found}
            return self._places[path]
        known = self._places.get(path, {})
        return {name: now for name, place in known.items() if (now := self._documents.around(place))}

    def around(self, path: str, offset: int) -> list[str]:
        """The qualified names of the definitions that contain an offset, the innermost first.

        While the text can't be parsed, the innermost definition is assumed to be the last one that begins at or above
        the offset's line.
        """
        known = self.of(path)
        text = self._documents.text(path) or ""
        if (found := definitions_of(text)) is not None:
            return [item.name for item in reversed(found) if item.whole[0] <= offset <= item.whole[1]]
        end_of_line = offset + len(text[offset:].partition("\n")[0])
        above = [(place.start, name) for name, place in known.items() if place.start <= end_of_line]
        parts = max(above)[1].split(".") if above else []
        return [".".join(parts[:depth]) for depth in range(len(parts), 0, -1)]
