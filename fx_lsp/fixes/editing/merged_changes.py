"""Puts the changes of several fixes together, each of which was made as if it were the only one.

Each fix takes the first name that is free for a function that it adds, and puts its imports and its calls of ``wrap``
at the same place as the others.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from fx_lsp.agent.messages import Span
from fx_lsp.fixes.editing import Fix, TextChange
from fx_lsp.fixes.editing.edited_source import unused_name
from fx_lsp.fixes.editing.text_edits import overlap

_FUNCTION = re.compile(r"^def (\w+)\(", re.MULTILINE)

_WORD = re.compile(r"\w+")

_NAME = re.compile(r"(?<![.\w])\w+")
"""A word that is no attribute's name."""


def conflict(one: TextChange, other: TextChange) -> bool:
    """Whether the two changes can't both be made: they overlap, and don't just add lines of the module at one place."""
    return overlap(one, other) and not (_adds_to_module(one) and _adds_to_module(other) and one.span == other.span)


def without_clashes(fixes: Iterable[Fix], text_of: Callable[[str], str | None]) -> dict[Fix, tuple[TextChange, ...]]:
    """The changes of each fix, with another name for a function that it adds if an earlier fix adds one of that name.

    If the two functions are equal, the earlier one serves both. ``text_of`` returns the text of a file.
    """
    added: defaultdict[str, dict[str, str]] = defaultdict(dict)
    """By file, and by name: the definition that is added."""
    changes: dict[Fix, tuple[TextChange, ...]] = {}
    for fix in fixes:
        names: dict[str, str] = {}
        kept = []
        for change in fix.changes:
            known, name = added[change.span.file], _function_added(change)
            if name is not None:
                equal = (other for other, text in known.items() if text == _renamed(change, {name: other}).text)
                names[name] = next(equal, "") or _free(name, known, text_of(change.span.file) or "")
                if names[name] in known:
                    continue
                known[names[name]] = _renamed(change, names).text
            kept.append(change)
        changes[fix] = tuple(_renamed(change, names) for change in kept)
    return changes


def _free(name: str, known: Collection[str], text: str) -> str:
    """``name``, which the file's ``text`` doesn't use, or if another fix uses it, one with a number appended."""
    return unused_name(name, {*known, *_WORD.findall(text)}) if name in known else name


def merged(changes: Iterable[TextChange]) -> tuple[TextChange, ...]:
    """The changes with those that add lines to the module at the same place as one; equal ones count once."""
    found: dict[Span | TextChange, TextChange] = {}
    for change in changes:
        key = change.span if _adds_to_module(change) else change
        known = found.get(key)
        found[key] = change if known is None else replace(known, text=_joined(known.text, change.text))
    return tuple(found.values())


def _adds_to_module(change: TextChange) -> bool:
    """Whether the change inserts whole lines that are not indented."""
    start, end = (change.span.line, change.span.col), (change.span.end_line, change.span.end_col)
    return start == end and not change.span.col and change.text.endswith("\n") and not change.text[0].isspace()


def _function_added(change: TextChange) -> str | None:
    """The name of the function that the change adds to the module, if what it adds begins with one."""
    found = _FUNCTION.match(change.text) if _adds_to_module(change) else None
    return found[1] if found else None


def _renamed(change: TextChange, names: Mapping[str, str]) -> TextChange:
    return replace(change, text=_NAME.sub(lambda word: names.get(word[0], word[0]), change.text))


def _joined(text: str, other: str) -> str:
    """Both texts; of another one that defines nothing, the lines that the first has not."""
    lines = other.splitlines(keepends=True)
    if any(line[0].isspace() and line.strip() for line in lines):
        return text if other in text else text + other
    known = text.splitlines(keepends=True)
    return text + "".join(line for line in lines if line not in known)
