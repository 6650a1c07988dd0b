"""Recognizes a line that is still being typed.

A name that occurs nowhere else in the file is usually the beginning of a longer name, and a line that ends in a space
usually continues. Tracing such a line would keep a CPU busy at each keystroke, only to report an undefined name.
"""

from __future__ import annotations

import builtins
import keyword
import re

SECONDS = 0.5
"""How long after the last edit a line still counts as half typed."""

_WORD = re.compile(r"\w+")
_KNOWN = frozenset({*dir(builtins), *keyword.kwlist, *keyword.softkwlist})


def is_half_typed(text: str, offset: int) -> bool:
    """Whether the line of ``offset``, where the last edit ended, is likely to continue there.

    That is so after a space at the end of the line, unless the line is blank, and in a word that occurs nowhere else in
    ``text``. Numbers, keywords and the names of builtins are never half typed.
    """
    start = text.rfind("\n", 0, offset) + 1
    before, after = text[start:offset], text[offset:].partition("\n")[0]
    if before.endswith(" ") and before.strip() and not after.strip():
        return True
    found = next((match for match in _WORD.finditer(text, start) if match.end() >= offset), None)
    if found is None or found.start() >= offset:
        return False
    word = found[0]
    return word.isidentifier() and word not in _KNOWN and len(re.findall(rf"\b{word}\b", text)) == 1
