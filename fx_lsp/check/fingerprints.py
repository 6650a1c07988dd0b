"""Identifies a problem, so that it is recognized after an edit elsewhere in the file."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from fx_lsp.check.check_files import Problem
from fx_lsp.check.shown_places import posix_path
from fx_lsp.documents.documents import Documents, Place


def fingerprints(problems: Iterable[Problem], documents: Documents) -> list[str]:
    """A digest for each problem of its path from the working directory, its code and its source lines.

    Of equal ones in a file the first differs from the second, and so on.
    """
    seen = Counter[tuple[str, ...]]()
    marks = []
    for problem in problems:
        place = problem.finding.place
        path = posix_path(place.path)
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
