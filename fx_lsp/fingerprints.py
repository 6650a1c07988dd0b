"""What tells one problem from another, also after an edit elsewhere in the file."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable

from fx_lsp.check import Problem
from fx_lsp.documents import Documents, Place
from fx_lsp.formats.places import shown_path


def fingerprints(problems: Iterable[Problem], documents: Documents) -> list[str]:
    """One for each problem, 64 hexadecimal digits: of its path from the working directory, code and lines of source.

    Of equal ones in a file the first differs from the second, and so on.
    """
    seen = Counter[tuple[str, ...]]()
    marks = []
    for problem in problems:
        place = problem.finding.place
        path = shown_path(place.path).replace(os.sep, "/")
        identity = (path, problem.finding.rule.code, _source(place, documents))
        seen[identity] += 1
        marks.append(hashlib.sha256("\0".join((*identity, str(seen[identity]))).encode()).hexdigest())
    return marks


def _source(place: Place, documents: Documents) -> str:
    """The place's text and the line that it begins in, however they are indented."""
    text = documents.text(place.path) or ""
    start = text.rfind("\n", 0, place.start) + 1
    end = text.find("\n", place.start)
    line = text[start : end if end >= 0 else len(text)]
    return "\n".join(" ".join(part.split()) for part in (line, text[place.start : place.end]))
